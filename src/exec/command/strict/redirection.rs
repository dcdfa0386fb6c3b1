//! Redirections and here-documents.

use super::{Read, Reader};

/// A here-document whose text begins on the next line.
#[derive(Debug)]
pub(super) struct Heredoc {
    end: String,
    /// Nothing is put in.
    quoted: bool,
    /// Tabs in front of its lines are taken away.
    indented: bool,
}

/// Longest first.
const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "&>", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"];

impl Reader<'_> {
    /// A redirection, if one stands here: the file that it writes, if it is one that matters.
    pub(super) fn redirection(&mut self) -> Read<Option<Option<String>>> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after = &rest[digits..];
        let Some(operator) = OPERATORS.into_iter().find(|operator| after.starts_with(operator)) else {
            return Ok(None);
        };
        if after.starts_with("<(") || after.starts_with(">(") || (digits > 0 && operator.starts_with('&')) {
            return Ok(None);
        }
        match operator {
            "<<<" | "&>" | "&>>" => self.bash_only()?,
            _ => self.composed(),
        }
        self.at += digits + operator.len();
        self.blanks();
        match operator {
            "<<" | "<<-" => {
                self.heredoc(operator == "<<-")?;
                return Ok(Some(None));
            }
            ">&" | "<&" => {
                let rest = self.rest();
                let length = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-').len();
                let ends = |c: char| c.is_whitespace() || ";|&)".contains(c);
                if length > 0
                    && rest
                        .get(length..)
                        .is_none_or(|rest| rest.is_empty() || rest.starts_with(ends))
                {
                    self.at += length;
                    return Ok(Some(None));
                }
                if operator == "<&" {
                    return Err("copies a descriptor that is not followed");
                }
            }
            _ => {}
        }
        let (words, ..) = self.word()?.ok_or("has a redirection to nothing")?;
        let [word] = words.as_slice() else {
            return Err("has a redirection to several files");
        };
        match operator {
            "<<<" => Ok(Some(None)),
            "<" if word.text.starts_with("/dev/tcp") || word.text.starts_with("/dev/udp") => {
                Err("opens a connection by a redirection")
            }
            "<" => Ok(Some(None)),
            _ => {
                const HARMLESS: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];
                let harmless = word.exact().is_some_and(|text| HARMLESS.contains(&text)) && operator != "<>";
                Ok(Some((!harmless).then(|| word.text.clone())))
            }
        }
    }

    fn heredoc(&mut self, indented: bool) -> Read<()> {
        if self.in_substitution {
            return Err("has a here-document within a substitution");
        }
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'));
        if quote.is_some() {
            self.next();
        }
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        let closed = match quote {
            Some(_) => self.next() == quote,
            None => true,
        };
        let ends = self
            .peek()
            .is_none_or(|c| c.is_ascii_whitespace() || ";|&<>)".contains(c));
        if word.is_empty() || !closed || !ends {
            return Err("has a here-document with an unusual end");
        }
        self.heredocs.push(Heredoc {
            end: word,
            quoted: quote.is_some(),
            indented,
        });
        Ok(())
    }

    /// The end of a line, and the here-documents that follow it.
    pub(super) fn newline(&mut self) -> Read<bool> {
        if self.peek() != Some('\n') {
            return Ok(false);
        }
        self.next();
        for heredoc in std::mem::take(&mut self.heredocs) {
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return Err("has a here-document without an end");
                }
                let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
                let line = rest.get(..length).unwrap_or_default();
                self.at += length;
                let line = line.strip_suffix('\n').unwrap_or(line);
                let bare = if heredoc.indented {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if bare == heredoc.end {
                    break;
                }
                if !heredoc.quoted
                    && (line.contains(['`', '\\']) || ["$(", "${", "$["].iter().any(|put_in| line.contains(put_in)))
                {
                    return Err("puts commands into a here-document");
                }
                if !heredoc.quoted && line.contains('$') {
                    self.expands()?;
                }
            }
            // The end's own line end is a line end again, if there is more.
        }
        Ok(true)
    }
}
