//! Markdown of others in which nothing is loaded, run or swallowed by being shown: no image, no tag with attributes or for
//! more than words, no definition that makes an image of a name, no block of formulas, and no link whose address says more
//! than where it leads. The text stays, with the address to be read; a backslash takes their meaning away. Text may come in
//! pieces.

/// Tags that load something or change how the rest shows, even without attributes.
const TAGS: [&str; 18] = [
    "audio", "base", "embed", "form", "frame", "iframe", "image", "img", "link", "math", "meta", "object", "picture",
    "script", "source", "style", "svg", "video",
];
/// Other tags of HTML that fold, swallow, hide or move what follows, begin a block, or end the one that they stand in. Left
/// are those that only mark words (`<kbd>`, `<sub>`) or begin a paragraph, and names that are none of HTML's, such as types
/// of generics: nothing comes of them.
const BLOCKS: &str = "address applet area article aside basefont bgsound blockquote body button canvas caption center col \
    colgroup datalist dd details dialog dir div dl dt fencedframe fieldset figcaption figure font footer \
    frameset h1 h2 h3 h4 h5 h6 head header hgroup html input isindex keygen legend li listing main \
    marquee menu menuitem meter nav nobr noembed noframes noscript ol param plaintext portal pre \
    progress rp search section select selectedcontent summary table tbody td template textarea tfoot th \
    thead title tr track ul webview xmp";
/// Characters of a tag's name that are waited for.
const LONGEST_TAG: usize = 40;
/// Fences whose text previews draw, with what it loads.
const DIAGRAMS: [&str; 16] = [
    "bitfield",
    "blockdiag",
    "d2",
    "ditaa",
    "dot",
    "graphviz",
    "kroki",
    "mermaid",
    "plantuml",
    "puml",
    "svgbob",
    "uml",
    "vega",
    "vega-lite",
    "viz",
    "wavedrom",
];
/// Bytes of a link's address that are waited for; what is longer is no plain address.
const LONGEST_ADDRESS: usize = 200;
/// Characters of a query, or of what stands behind `#`, that a link may carry.
const LONGEST_QUERY: usize = 40;
/// How the address of a link begins that leads to a page; others have no scheme.
const SCHEMES: [&str; 3] = ["https", "http", "mailto"];

/// How a line begins with which a block of formulas begins, or ends. What looks like a fence in such a block is none, and it goes on past
/// everything to the next such line, or to the end of the text.
const FORMULAS: [&str; 2] = ["$$", "\\begin{"];

/// Bytes of the longest of them.
const LONGEST_HEAD: usize = 7;

/// Takes the meaning away from what would be loaded.
#[derive(Clone, Debug)]
pub(super) struct Inert {
    /// What is known only by what follows: a tag, the address of a link, or what a fence is of.
    held: String,
    /// What was held and is looked at once more, from its end.
    again: Vec<char>,
    last: char,
    /// A backslash before what comes next takes its meaning away.
    escaped: bool,
    /// An image may have begun in this paragraph.
    image: bool,
    /// A definition may have begun.
    definition: bool,
    /// Only what begins a line came so far.
    at_start: bool,
    /// The line so far, for fences: its run of marks, and whether all of it may be one.
    line: Line,
    /// The fence that is open at the margin.
    fence: Option<(char, usize)>,
    /// Marks of a fence stood where what they mean depends on more than their line: from there on nothing counts as code.
    unsure: bool,
}

/// A line as far as fences go.
#[derive(Clone, Debug, Default)]
struct Line {
    indent: usize,
    mark: Option<char>,
    /// Marks that it begins with.
    run: usize,
    /// What stands behind them: anything at all, a mark of the same kind, what is no blank.
    rest: bool,
    again: bool,
    plain: bool,
    /// Marks in a row anywhere in it, and the most of them.
    row: (char, usize),
    longest: usize,
    /// Nothing but what may stand before it stands behind marks that may begin a fence.
    awaits_info: bool,
    /// What it begins with, behind what may stand before a block; as much as [`FORMULAS`] have.
    head: String,
}

impl Default for Inert {
    fn default() -> Self {
        Self {
            held: String::new(),
            again: Vec::new(),
            last: '\n',
            escaped: false,
            image: false,
            definition: false,
            at_start: true,
            line: Line::default(),
            fence: None,
            unsure: false,
        }
    }
}

/// A whole text.
pub fn inert(text: &str) -> String {
    let mut inert = Inert::default();
    let mut safe = inert.push(text);
    safe.push_str(&inert.finish());
    safe
}

impl Inert {
    /// The next piece. What depends on what follows comes with it.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut safe = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.again.push(c);
            self.drain(&mut safe);
        }
        safe
    }

    /// What is still held back, at the end.
    pub(super) fn finish(&mut self) -> String {
        let mut safe = String::new();
        while let Some(first) = self.held.chars().next() {
            match first {
                '(' => self.release_address(true, &mut safe),
                '<' => {
                    let acts = self.begins_tag();
                    self.release(acts, &mut safe);
                }
                _ => self.release_info(&mut safe),
            }
            self.drain(&mut safe);
        }
        safe
    }

    fn drain(&mut self, safe: &mut String) {
        while let Some(c) = self.again.pop() {
            self.one(c, safe);
        }
    }

    fn one(&mut self, c: char, safe: &mut String) {
        match self.held.chars().next() {
            Some('(') => return self.address(c, safe),
            Some('<') => {
                if c.is_ascii_alphanumeric() || c == '-' || c == '/' && self.held.len() == 1 {
                    self.held.push(c);
                    if self.held.len() > LONGEST_TAG {
                        let acts = self.begins_tag();
                        self.release(acts, safe);
                    }
                    return;
                }
                let acts = self.is_tag(c);
                self.release(acts, safe);
            }
            Some(_) if is_of_info(c) && self.held.len() <= LONGEST_TAG => return self.held.push(c),
            Some(_) => self.release_info(safe),
            None => {}
        }
        if self.fence.is_some() {
            return self.write(c, safe);
        }
        match c {
            '[' if self.last == '!' => self.image = true,
            '[' if self.at_start => self.definition = true,
            '(' if self.last == ']' && !self.image => return self.held.push(c),
            '(' | '[' if self.last == ']' && self.image => safe.push('\\'),
            ':' if self.last == ']' && self.definition => safe.push('\\'),
            '<' if !self.escaped => return self.held.push(c),
            '$' | '{'
                if FORMULAS
                    .iter()
                    .any(|formulas| formulas.strip_suffix(c) == Some(&self.line.head)) =>
            {
                safe.push('\\')
            }
            c if is_of_info(c) && self.line.awaits_info => return self.held.push(c),
            _ => {}
        }
        self.write(c, safe);
    }

    /// The address of a link: up to a blank, to its own bracket, or to what it cannot hold.
    fn address(&mut self, c: char, safe: &mut String) {
        // A quotation goes on in each of its lines; and what readers take for a blank differs.
        let is_before = |c: char| c.is_ascii_whitespace() || c == '>' || !c.is_ascii();
        let address = self.held[1..].trim_start_matches(is_before);
        let open = address.matches('(').count() > address.matches(')').count();
        let ends = match c {
            '[' | ']' | '<' => true,
            ')' => !open,
            c => c.is_ascii_whitespace() && !address.is_empty(),
        };
        if !ends && self.held.len() <= LONGEST_ADDRESS {
            return self.held.push(c);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "_-.,!*(\"'`".contains(c);
        let acts =
            !ends || c == '<' || matches!(c, '[' | ']') && !address.chars().all(is_word) || leads_astray(address);
        self.again.push(c);
        self.release_address(acts, safe);
    }

    /// What stands in the brackets is text like any other.
    fn release_address(&mut self, acts: bool, safe: &mut String) {
        let held = std::mem::take(&mut self.held);
        if acts {
            safe.push('\\');
        }
        self.write('(', safe);
        self.again.extend(held[1..].chars().rev());
    }

    /// A diagram is shown as its text.
    fn release_info(&mut self, safe: &mut String) {
        if DIAGRAMS.contains(&self.held.to_ascii_lowercase().as_str()) {
            "text ".chars().for_each(|c| self.write(c, safe));
        }
        self.release(false, safe);
    }

    /// Whether what is held could be the name of a tag.
    fn begins_tag(&self) -> bool {
        let name = self.held.trim_start_matches(['<', '/']);
        self.held.starts_with('<') && name.starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// Whether what is held begins a tag that acts, by what follows its name.
    fn is_tag(&self, next: char) -> bool {
        let name = self.held.trim_start_matches(['<', '/']);
        match name.is_empty() {
            // A comment, an instruction, a declaration: nothing of a Markdown text behind it is what it seems to be.
            true => self.held.len() == 1 && matches!(next, '!' | '?'),
            false => {
                let lower = name.to_ascii_lowercase();
                let has_attributes = next.is_ascii_whitespace() || next == '/' || !next.is_ascii();
                let is_block = || BLOCKS.split_ascii_whitespace().any(|block| block == lower);
                let is_bare = next == '>' && (self.at_start || is_block());
                self.begins_tag() && (is_bare || has_attributes || TAGS.contains(&lower.as_str()))
            }
        }
    }

    fn release(&mut self, acts: bool, safe: &mut String) {
        let held = std::mem::take(&mut self.held);
        if acts && !held.is_empty() {
            safe.push('\\');
        }
        held.chars().for_each(|c| self.write(c, safe));
    }

    fn write(&mut self, c: char, safe: &mut String) {
        safe.push(c);
        if c == '\n' {
            let blank = self.last == '\n';
            self.end_line();
            if blank {
                (self.image, self.definition) = (false, false);
            }
            self.at_start = true;
        } else {
            self.at_start &=
                c.is_ascii_whitespace() || c.is_ascii_digit() || matches!(c, '>' | '-' | '*' | '+' | '.' | ')');
            self.line.push(c);
            if !self.at_start && self.line.head.len() < LONGEST_HEAD {
                self.line.head.push(c);
                // Somebody else's block of formulas may have been open, and ends here.
                if self.fence.is_some() && FORMULAS.contains(&self.line.head.as_str()) {
                    (self.fence, self.unsure) = (None, true);
                }
            }
        }
        self.escaped = c == '\\' && !self.escaped;
        self.last = c;
    }

    /// A fence counts only at the margin, where it is one whatever came before.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        match self.fence {
            Some((with, length)) => {
                let closes = line.mark == Some(with) && line.indent < 4 && line.run >= length && !line.plain;
                self.fence = self.fence.filter(|_| !closes);
            }
            None if line.longest < 3 || self.unsure => {}
            None => match line.mark {
                Some(mark) if line.indent == 0 && line.run >= 3 && (mark == '~' || !line.again) => {
                    self.fence = Some((mark, line.run));
                }
                _ => self.unsure = true,
            },
        }
    }
}

impl Line {
    fn push(&mut self, c: char) {
        self.row = match (self.row, c) {
            ((last, count), '`' | '~') if last == c => (c, count + 1),
            (_, '`' | '~') => (c, 1),
            _ => ('\0', 0),
        };
        self.longest = self.longest.max(self.row.1);
        self.awaits_info = self.row.1 >= 3 || self.awaits_info && matches!(c, ' ' | '\t' | '{' | '.');
        match self.mark {
            None if !self.rest && c == ' ' => self.indent += 1,
            None if !self.rest && matches!(c, '`' | '~') => (self.mark, self.run) = (Some(c), 1),
            Some(mark) if !self.rest && c == mark => self.run += 1,
            mark => {
                self.rest = true;
                self.again |= mark == Some(c);
                self.plain |= !matches!(c, ' ' | '\t');
            }
        }
    }
}

/// What the word is made of that says what a fence is of.
fn is_of_info(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

/// Whether an address may say more than where it leads, or leads to what is no page.
fn leads_astray(address: &str) -> bool {
    if address.starts_with("//") || address.contains('\\') || address.contains('&') && address.contains(';') {
        return true;
    }
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_scheme = |scheme: &String| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.%".contains(c));
    match scheme.filter(is_scheme) {
        Some(scheme) if !SCHEMES.contains(&scheme.as_str()) => return !is_place(address),
        Some(_) => {}
        None => return false,
    }
    let query = address.find(['?', '#']).map_or(0, |at| address.len() - at);
    query > LONGEST_QUERY || long_part(address)
}

/// A path and a line, or a drive: `src/a.rs:12`, `C:/x`.
fn is_place(address: &str) -> bool {
    let behind = address.split_once(':').map_or("", |(_, behind)| behind);
    !behind.is_empty()
        && behind
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ':' | '-' | 'L' | '#'))
        || (address.as_bytes().get(1) == Some(&b':') && address.as_bytes().get(2) == Some(&b'/'))
}

/// A host or a path can carry as much as a query does.
fn long_part(address: &str) -> bool {
    const LONGEST_PART: usize = 60;
    address
        .split(['/', '.', '?', '#'])
        .any(|part| part.len() > LONGEST_PART)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_be_loaded_is_only_text() {
        for (text, expected) in [
            ("![](https://x/?q=1)", "![]\\(https://x/?q=1)"),
            ("a ![alt [b] `]`](u) c", "a ![alt [b] `]`]\\(u) c"),
            ("![a\nb](u)", "![a\nb]\\(u)"),
            ("![a][b]\n\n[b]: https://x", "![a]\\[b]\n\n[b]\\: https://x"),
            ("![b]\n\n > 1. [b]:\nhttps://x", "![b]\n\n > 1. [b]\\:\nhttps://x"),
            ("![b][]", "![b]\\[]"),
            ("[![x](a)](b)", "[![x]\\(a)]\\(b)"),
            ("a <img src=x>", "a \\<img src=x>"),
            ("a <IMG\nsrc=x>", "a \\<IMG\nsrc=x>"),
            ("a <img/src=x>", "a \\<img/src=x>"),
            (
                "a <span style='background:url(//x)'>",
                "a \\<span style='background:url(//x)'>",
            ),
            ("<style>@import", "\\<style>@import"),
            ("Let me look <details> at it.", "Let me look \\<details> at it."),
            ("a <TEMPLATE>b</template>", "a \\<TEMPLATE>b\\</template>"),
            ("a <dialog>b <textarea>c", "a \\<dialog>b \\<textarea>c"),
            ("a <plaintext>", "a \\<plaintext>"),
            ("a </div></TABLE>", "a \\</div>\\</TABLE>"),
            ("a <svg><image href=x>", "a \\<svg>\\<image href=x>"),
            ("<div>\n```\n\n![](u)", "\\<div>\n```\n\n![](u)"),
            ("<!--\n```\n-->\n![](u)", "\\<!--\n```\n-->\n![](u)"),
            ("- a\n\n  ```\n![](u)", "- a\n\n  ```\n![]\\(u)"),
            ("```\n![](u)\n   ```\n![](u)", "```\n![](u)\n   ```\n![]\\(u)"),
            ("```\n![](u)\n    ```\n![](u)", "```\n![](u)\n    ```\n![](u)"),
            (" ```\nx\n```\n![](u)", " ```\nx\n```\n![]\\(u)"),
            ("> ```\n```\nx\n```\n![](u)", "> ```\n```\nx\n```\n![]\\(u)"),
            ("``` a`b\n![](u)\n```\n![](u)", "``` a`b\n![]\\(u)\n```\n![]\\(u)"),
            ("~~~ a~b\n![](u)\n~~~\n![](u)", "~~~ a~b\n![](u)\n~~~\n![]\\(u)"),
            ("```\n![](u)\n```\n![](u)", "```\n![](u)\n```\n![]\\(u)"),
            ("[x](data:text/html,a)", "[x]\\(data:text/html,a)"),
            ("[x](file://host/share)", "[x]\\(file://host/share)"),
            ("[x](//host/share)", "[x]\\(//host/share)"),
            ("[x](\\\\host\\share)", "[x]\\(\\\\host\\share)"),
            ("[x](< command:a>)", "[x]\\(< command:a>)"),
            (
                &format!("a <{} style='background:url(//x)'>", "x".repeat(60)),
                &format!("a \\<{} style='background:url(//x)'>", "x".repeat(60)),
            ),
            ("[x](java&#115;cript:a)", "[x]\\(java&#115;cript:a)"),
            // An address is text until it is one.
            ("[a](b ![x](u))", "[a](b ![x]\\(u))"),
            ("[a](![x](u)", "[a](![x]\\(u)"),
            ("[a](\n![x](u)", "[a](\n![x]\\(u)"),
            ("[a](<![x](u)", "[a]\\(\\<![x]\\(u)"),
            ("[a](`](`![x](u)", "[a](`](`![x]\\(u)"),
            ("[a](/b \"![x](u)\")", "[a](/b \"![x]\\(u)\")"),
            ("> [a](b\n> ![x](u))", "> [a](b\n> ![x]\\(u))"),
            ("[a](\n[b]: https://x\n\n![b]", "[a](\n[b]\\: https://x\n\n![b]"),
            ("[a](b <img src=x>)", "[a](b \\<img src=x>)"),
            ("[a](b<img src=x>)", "[a]\\(b\\<img src=x>)"),
            ("a](<img src=x>)", "a]\\(\\<img src=x>)"),
            ("[x](command:a[b)", "[x]\\(command:a[b)"),
            ("[x](\n> command:a)", "[x]\\(\n> command:a)"),
            // Formulas in which fences are none.
            ("$$\n```\n$$\n\n![x](u)", "$\\$\n```\n$$\n\n![x]\\(u)"),
            (" > 1. $$ a\n```\n![x](u)\n```", " > 1. $\\$ a\n```\n![x](u)\n```"),
            (
                "\\begin{a}\n```\n![x](u)\n```\n![x](u)",
                "\\begin\\{a}\n```\n![x](u)\n```\n![x]\\(u)",
            ),
            (
                "```\n- \\begin{a}\n![x](u)\n```\n![x](u)",
                "```\n- \\begin{a}\n![x]\\(u)\n```\n![x]\\(u)",
            ),
            // A backslash takes meaning away, two do not.
            ("\\<img src=x>", "\\<img src=x>"),
            ("\\\\<img src=x>", "\\\\\\<img src=x>"),
            ("\\\\\\<img src=x>", "\\\\\\<img src=x>"),
            // Nothing is drawn.
            (
                "```mermaid\nA@{ img: \"u\" }\n```",
                "```text mermaid\nA@{ img: \"u\" }\n```",
            ),
            ("> ~~~ {.PlantUML}\n", "> ~~~ {.text PlantUML}\n"),
            ("```mermaid", "```text mermaid"),
        ] {
            assert_eq!(inert(text), expected, "{text:?}");
        }
        let long = format!("[x](https://e.org/?q={})", "s".repeat(60));
        assert!(inert(&long).starts_with("[x]\\("), "{}", inert(&long));
        let long = "s".repeat(50);
        for address in [
            format!("https://{long}{long}.e.org/"),
            format!("https://e.org/{long}/{long}/{long}/{long}"),
            format!("https://e.org/(a)?q={long}"),
            format!("<https://e.org/a b?q={long}>"),
            format!("\nhttps://e.org/?q={long}"),
            format!("https://e.org/[a]?q={long}"),
            format!("https://e.org/\u{a0}?q={long}"),
            format!("\u{a0}https://e.org/?q={long}"),
        ] {
            let link = format!("[x]({address})");
            assert!(inert(&link).starts_with("[x]\\("), "{}", inert(&link));
        }
    }

    #[test]
    fn plain_markdown_stays() {
        for text in [
            "See [the docs](https://docs.rs/a/latest/a/?q=b#c) and [this](src/main.rs:12), [that](../a.md#part).",
            "`vec![1, 2]` and `Vec<u8>`, `a<b`, x < y, <https://example.org>, 1 <2",
            "```ts\ninterface A { [key: string]: number }\n[key: string]: number\n<div class=x>\n```",
            "A list[0]: one",
            "H<sub>2</sub>O, <kbd>Ctrl</kbd>, a<br>b, <b>bold</b>, <mark>new</mark>",
            "`Vec<String>` and `Option<T>`, Map<Data, Table>, Part<P>, Vec<Option>",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "- [ ] todo\n- [x] done",
            "[a](b(c).md \"title\") [b](\n c.md) [c]( d.md ) `f[0](g[1])` `f[0]((a) => [b])`",
            "```rust\nlet a = 1;\n```\n~~~ text mermaid\n~~~",
            "<U+202E>x and <12 blanks>",
            "$ echo a$$\n$5 or `$$`, and $x_1$: \\$$ \\beginning {",
            "```sh\necho $$ ![](u)\n```",
        ] {
            assert_eq!(inert(text), text);
        }
    }

    proptest! {
        #[test]
        fn how_it_is_cut_changes_nothing(text in "([a-c \n\\[\\]()!<>:/`?\\\\]|https://|img |```\n|```|mermaid|\\$\\$|\\\\begin\\{){0,40}", cut in 0..60usize) {
            let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            let mut pieces = Inert::default();
            let cut = pieces.push(&text[..at]) + &pieces.push(&text[at..]) + &pieces.finish();
            prop_assert_eq!(cut, inert(&text));
        }
    }
}
