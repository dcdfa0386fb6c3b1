//! Code of MCP servers that commands of the agent can change, by each way in which a command line leads to it.

use super::programs::{SYSTEM, list_servers, mcp};
use super::repel;
use crate::exec::place::{Place, User};

/// A command line, what else its table says, and the file that is changed.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("python3", r#"["WORK/srv.py"]"#, "", "srv.py"),
    ("python3", r#"["WORK/srv.py"]"#, "", "lib.py"),
    ("python3", r#"["WORK/pkg"]"#, "", "pkg/__main__.py"),
    ("python3", r#"["-m", "srv"]"#, "cwd = 'WORK'", "lib.py"),
    ("sh", r#"["-c", "exec python3 WORK/srv.py"]"#, "", "lib.py"),
    ("env", r#"["-C", "WORK/in", "python3", "main.py"]"#, "", "in/main.py"),
    (
        "python3",
        r#"["-c", "import lib"]"#,
        "env = { PYTHONPATH = 'WORK' }",
        "lib.py",
    ),
];

/// A place with code in its workspace, the table of a server that runs it, and the text that is put into it.
fn scene((command, args, more, _): &Row) -> (Place, String, String) {
    let place = Place::new(User::Own);
    for (name, text) in [
        ("srv.py", "import lib\n"),
        ("lib.py", ""),
        ("pkg/__main__.py", ""),
        ("in/main.py", ""),
    ] {
        let path = place.work.join(name);
        place.folder(path.parent().expect("a folder"));
        place.file(&path, text);
    }
    let table = format!("[mcp_servers.a]\ncommand = {command:?}\nargs = {args}\nstartup_timeout_sec = 10\n{more}\n");
    let table = table.replace("WORK", &place.work.display().to_string());
    let mark = place.outside.join("mark").display().to_string();
    (place, table, format!("open({mark:?}, 'w').write('x')\n"))
}

/// Another session has changed it since the server was started last.
#[test]
fn the_code_of_a_server_is_started_only_as_it_was() {
    repel(ROWS, |row| {
        let (place, table, planted) = scene(row);
        let started = list_servers(&place, SYSTEM, &table);
        place.file(&place.work.join(row.3), &planted);
        let said = list_servers(&place, SYSTEM, &table);
        match (
            place.outside.join("mark").exists(),
            said.contains("countersign mcp allow a"),
        ) {
            (false, true) => Ok(()),
            _ => Err(format!("{started}{said}")),
        }
    });
}

/// What is allowed by its name is started as it is then, also where no file of configuration names it.
#[test]
fn a_server_that_was_changed_is_started_by_the_persons_word() {
    for configured in [true, false] {
        let row = &ROWS[1];
        let (place, table, changed) = scene(row);
        list_servers(&place, SYSTEM, &table);
        place.file(&place.work.join(row.3), &changed);
        assert!(list_servers(&place, SYSTEM, &table).contains("countersign mcp allow a"));
        let config = if configured { table.as_str() } else { "" };
        let said = mcp(&place, SYSTEM, config, &["allow", "a"]);
        assert!(said.contains("srv.py"), "{said}");
        list_servers(&place, SYSTEM, &table);
        assert!(place.outside.join("mark").exists(), "{said}");
    }
}
