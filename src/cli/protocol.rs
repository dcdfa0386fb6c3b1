//! `countersign protocol`: prints the pages that describe the custom protocol.
//!
//! They are the committed ones, so that the program and the repository cannot differ; a test keeps them in
//! step with the types.

use std::io::Write;
use std::process::ExitCode;

const SCHEMA: &str = include_str!("../../docs/protocol.schema.json");
const TYPESCRIPT: &str = include_str!("../../editors/vscode/src/protocol.ts");
const MARKDOWN: &str = include_str!("../../docs/protocol.md");

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Args {
    /// As JSON Schema.
    #[arg(long)]
    schema: bool,
    /// As TypeScript declarations.
    #[arg(long)]
    typescript: bool,
    /// As a page to read.
    #[arg(long)]
    markdown: bool,
}

pub fn run(args: Args) -> ExitCode {
    let page = match args {
        Args { schema: true, .. } => SCHEMA,
        Args { typescript: true, .. } => TYPESCRIPT,
        Args { .. } => MARKDOWN,
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, `head` for one, has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
