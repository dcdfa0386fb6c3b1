//! `countersign completions` and `countersign man`: the command line for a shell, and as a page of the manual.

use super::Cli;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io::{self, Write as _};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell that is to complete.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script that a shell reads.
pub fn run(args: &Args) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "countersign", &mut script);
    print(&script)
}

/// Prints the page: the program's, and a section for each subcommand.
pub fn manual() -> ExitCode {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    match write_manual(&command, &mut page) {
        Ok(()) => print(&page),
        Err(_) => ExitCode::FAILURE,
    }
}

fn write_manual(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        let man = clap_mangen::Man::new(part.clone());
        writeln!(page, ".SH \"{}\"", part.get_name().to_uppercase())?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
    }
    Ok(())
}

fn print(text: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, `head` for one, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
