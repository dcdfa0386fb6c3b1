//! `countersign editor-config`: what it prints is what editors read.

use crate::support::cannot;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ALL: [&str; 8] = ["helix", "emacs", "kakoune", "sublime", "zed", "vim", "neovim", "vscode"];

fn printed(editor: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["editor-config", editor])
        .output()
        .expect("the program");
    assert!(output.status.success(), "{editor}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A program that is named in a variable, or on the path.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[test]
fn every_editor_has_its_configuration() {
    for editor in ALL {
        assert!(printed(editor).contains("countersign"), "{editor}");
    }
    // By the names that people type, too.
    for (short, editor) in [
        ("nvim", "neovim"),
        ("hx", "helix"),
        ("kak", "kakoune"),
        ("code", "vscode"),
    ] {
        assert_eq!(printed(short), printed(editor), "{short}");
    }
    let unknown = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["editor-config", "ed"])
        .output()
        .expect("the program");
    let told = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        !unknown.status.success() && ALL.iter().all(|editor| told.contains(editor)),
        "{told}"
    );
}

#[test]
fn helix_gets_the_agent_behind_the_servers_of_every_language() {
    let table: toml::Table = printed("helix").parse().expect("TOML");
    assert_eq!(
        table["language-server"]["countersign"]["command"].as_str(),
        Some("countersign")
    );
    let languages = table["language"].as_array().expect("a list");
    assert!(languages.len() > 200, "{}", languages.len());
    let mut names = Vec::new();
    for language in languages {
        let servers = language["language-servers"].as_array().expect("a list");
        assert_eq!(
            servers.last().and_then(|server| server.as_str()),
            Some("countersign"),
            "{language:?}"
        );
        names.push(language["name"].as_str().expect("a name"));
    }
    assert!(["markdown", "python", "rust"].iter().all(|name| names.contains(name)));
    let rust = languages
        .iter()
        .find(|language| language["name"].as_str() == Some("rust"));
    assert_eq!(rust.expect("it")["language-servers"][0].as_str(), Some("rust-analyzer"));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "each once");
}

#[test]
fn what_is_json_is_json() {
    for editor in ["sublime", "zed", "vscode"] {
        let value: serde_json::Value = serde_json::from_str(&printed(editor)).expect(editor);
        assert!(value.is_object(), "{editor}");
    }
}

/// Zed formats with the first server of a language, whether or not that one can.
#[test]
fn zed_gets_the_agent_behind_the_servers_of_every_language() {
    let settings: serde_json::Value = serde_json::from_str(&printed("zed")).expect("JSON");
    let printed = settings["languages"].as_object().expect("languages");
    for (name, language) in printed {
        let servers = &language["language_servers"];
        assert_eq!(servers, &serde_json::json!(["...", "countersign"]), "{name}");
    }
    let extension: toml::Table = include_str!("../../editors/zed/extension.toml").parse().expect("TOML");
    let languages = extension["language_servers"]["countersign"]["languages"].as_array();
    let languages = languages.expect("a list").iter().filter_map(toml::Value::as_str);
    assert!(languages.eq(printed.keys().map(String::as_str)), "{printed:?}");
}

/// A server that cannot be started keeps kakoune-lsp from starting the others of the buffer.
#[test]
fn kakoune_gets_the_agent_behind_the_servers_that_are_installed() {
    let printed = printed("kakoune");
    let (_, script) = printed.split_once("lsp_servers %sh{\n").expect("a script");
    let (script, _) = script.split_once("\n    }\n").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("/bin/true", folder.path().join("here")).expect("a program");
    let path = std::env::var_os("PATH").expect("PATH");
    let path = std::env::join_paths(std::iter::once(folder.path().into()).chain(std::env::split_paths(&path)));
    let servers = |configured: &str| -> Vec<String> {
        let output = Command::new("sh")
            .args(["-c", script])
            .env("kak_opt_lsp_servers", configured)
            .env("PATH", path.as_ref().expect("a path"))
            .output()
            .expect("sh");
        let text = String::from_utf8(output.stdout).expect("text");
        let table: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}: {text}{:?}", output.stderr));
        table.keys().cloned().collect()
    };
    assert_eq!(servers(""), ["countersign"]);
    let configured = r#"
        [here]
        root_globs = [".git"]
        settings_section = "_"
        [here.settings._]
        command = "no-such-setting"
        [no-such-server]
        root_globs = [".git"]
        [no-such-server.settings]
        deep = true
        ["renamed"] # by its command
        command = 'here' # this one
        root_globs = [".git"]
        [no-such-command]
        command = "no-such-program"
        root_globs = [".git"]
    "#;
    assert_eq!(servers(configured), ["countersign", "here", "renamed"]);
}

#[test]
fn emacs_and_neovim_load_theirs() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(emacs) = program("COUNTERSIGN_EMACS", "emacs") {
        let file = folder.path().join("countersign.el");
        std::fs::write(&file, printed("emacs")).expect("a file");
        let output = Command::new(emacs)
            .args(["-Q", "--batch", "-l"])
            .arg(&file)
            .output()
            .expect("emacs");
        assert!(output.status.success(), "{output:?}");
    }
    if let Some(neovim) = program("COUNTERSIGN_NVIM_CURRENT", "nvim") {
        let file = folder.path().join("countersign.lua");
        std::fs::write(&file, printed("neovim")).expect("a file");
        let output = Command::new(neovim)
            .args(["--headless", "--clean", "-l"])
            .arg(&file)
            .env("HOME", folder.path())
            .output()
            .expect("nvim");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

/// What the printed lines use of the plugin vim-lsp.
const VIM_LSP: &str = r"
function! lsp#register_server(info) abort
  let g:registered = a:info
endfunction
function! lsp#stream() abort
  return {}
endfunction
function! lsp#send_request(server, request) abort
  call add(g:answers, [a:server, a:request])
endfunction
";
const VIM_CALLBAG: &str = r"
function! lsp#callbag#pipe(stream, filter, subscription) abort
  let g:Hears = {event -> a:filter(event) ? a:subscription.next(event) : 0}
endfunction
function! lsp#callbag#filter(passes) abort
  return a:passes
endfunction
function! lsp#callbag#subscribe(subscription) abort
  return a:subscription
endfunction
";
/// Asks four times, with other keys typed each time; the first question also finds keys that were typed before it.
const VIM_PLAY: &str = r#"
let g:answers = []
function! s:play() abort
  doautocmd <nomodeline> User lsp_setup
  let choices = [{'title': 'Deny'}, {'title': 'Allow Once'}, {'title': 'Deny and Stop'}]
  let params = {'message': "Run\nthis?", 'actions': choices}
  set mouse=a
  call feedkeys("3\<CR>", 't')
  for id in range(4)
    call timer_start(20, {-> feedkeys(['2', '3', '', '7'][id] . "\<CR>", 't')})
    call g:Hears({'server': 's', 'request': {'id': id, 'method': 'window/showMessageRequest', 'params': params}})
  endfor
  call g:Hears({'server': 's', 'request': {'id': 9, 'method': 'workspace/applyEdit', 'params': {}}})
  call writefile([json_encode([g:registered.name, g:registered.cmd({}), &mouse, g:answers])], 'told')
  quitall!
endfunction
autocmd VimEnter * call s:play()
"#;

/// Of the choices of a question vim-lsp itself sends back none but the first.
#[test]
fn vim_sends_back_the_choice_that_was_typed() {
    let Some(vim) = program("COUNTERSIGN_VIM", "vim").filter(|vim| is_vim(vim)) else {
        return cannot("what Vim makes of its configuration (no vim with timers on PATH)");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect(name);
    std::fs::create_dir_all(folder.path().join("autoload/lsp")).expect("a folder");
    write("autoload/lsp.vim", VIM_LSP);
    write("autoload/lsp/callbag.vim", VIM_CALLBAG);
    write("printed.vim", &printed("vim"));
    let here = "let &runtimepath = getcwd() . ',' . &runtimepath\nsource printed.vim\n";
    write("vimrc", &format!("{here}{VIM_PLAY}"));
    let mut editor = Command::new(vim)
        .args(["-Nu", "vimrc", "-i", "NONE", "-n", "--not-a-term"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("vim");
    // An editor whose keyboard is gone would end.
    let keyboard = editor.stdin.take();
    let seen = output_of(editor);
    drop(keyboard);
    let told = std::fs::read_to_string(folder.path().join("told")).unwrap_or_else(|_| panic!("{seen}"));
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let answers = serde_json::json!([
        ["s", {"id": 0, "result": {"title": "Allow Once"}}],
        ["s", {"id": 1, "result": {"title": "Deny and Stop"}}],
        ["s", {"id": 2, "result": null}],
        ["s", {"id": 3, "result": null}],
    ]);
    assert_eq!(told, serde_json::json!(["countersign", ["countersign"], "a", answers]));
}

/// Neovim and the smallest Vims go by the same name.
fn is_vim(program: &Path) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("+timers"))
}

/// What an editor shows until it ends, which is soon or by force.
fn output_of(mut editor: Child) -> String {
    let mut screen = editor.stdout.take().expect("its screen");
    let reads = std::thread::spawn(move || {
        let mut seen = Vec::new();
        let read = screen.read_to_end(&mut seen);
        read.map(|_| String::from_utf8_lossy(&seen).into_owned())
    });
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end && editor.try_wait().expect("the editor").is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    editor.kill().ok();
    editor.wait().expect("its end");
    reads.join().expect("a reader").expect("a screen")
}
