use crate::protocol::item::CommandAction;
use std::path::Path;
pub fn display(argv: &[String]) -> String {
    argv.join(" ")
}
pub fn actions(_a: &[String], _c: &Path) -> Vec<CommandAction> {
    vec![]
}
