//! The corpus as it is read and written.

/// What comes after the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) enum End {
    Clean,
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays.
    Stall,
    /// This comes again and again.
    Trickle(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(in crate::model) struct Case {
    pub(in crate::model) name: String,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(in crate::model) body: Vec<u8>,
    encoding: Option<String>,
    pub(super) end: End,
    pub(super) only_size: Option<usize>,
    pub(super) wanted: Vec<String>,
}

impl Case {
    /// Whether the bytes go as they stand here.
    pub(super) fn is_plain(&self) -> bool {
        self.encoding.is_none()
    }

    /// The bytes on the wire.
    pub(super) fn encoded(&self) -> Vec<u8> {
        match self.encoding.as_deref() {
            None => self.body.clone(),
            Some("deflate") => zlib(&self.body),
            Some(_) => gzip(&self.body),
        }
    }
}

pub(in crate::model) fn cases(text: &str) -> Vec<Case> {
    let sections = text.split("\n## ").skip(1);
    sections.map(case).collect()
}

fn case(section: &str) -> Case {
    let (name, rest) = section.split_once('\n').unwrap_or((section, ""));
    let mut case = Case {
        name: name.to_owned(),
        status: 200,
        headers: Vec::new(),
        body: Vec::new(),
        encoding: None,
        end: End::Clean,
        only_size: None,
        wanted: Vec::new(),
    };
    let mut content_type = "text/event-stream".to_owned();
    let (mut body, mut lines) = (String::new(), rest.lines().peekable());
    let (mut line_end, mut bom, mut escapes, mut no_newline) = ("\n", false, false, false);
    let (mut repeat, mut repeat_lines) = (0, 0);
    while let Some(directive) = lines.next_if(|line| line.starts_with("@ ")) {
        let (key, value) = directive[2..].split_once(' ').unwrap_or((&directive[2..], ""));
        let number = || value.parse::<usize>().unwrap_or_else(|_| panic!("{name}: {directive}"));
        match key {
            "status" => case.status = u16::try_from(number()).expect("a status"),
            "type" => value.clone_into(&mut content_type),
            "header" => {
                let (name, value) = value.split_once(": ").expect("name: value");
                case.headers.push((name.to_owned(), value.to_owned()));
            }
            "encoding" => {
                if let Some(encoding) = Some(value).filter(|value| !value.ends_with("-hidden")) {
                    case.headers.push(("content-encoding".to_owned(), encoding.to_owned()));
                }
                case.encoding = Some(value.to_owned());
            }
            "end" => {
                case.end = match value.split_once(' ').unwrap_or((value, "")) {
                    ("cut", _) => End::Cut,
                    ("stall", _) => End::Stall,
                    ("trickle", again) => End::Trickle(unescaped(again)),
                    _ => panic!("{name}: {directive}"),
                }
            }
            "line-ends" => line_end = if value == "crlf" { "\r\n" } else { "\r" },
            "bom" => bom = true,
            "escapes" => escapes = true,
            "no-newline" => no_newline = true,
            "repeat" => repeat = number(),
            "repeat-lines" => repeat_lines = number(),
            "sizes" => case.only_size = Some(number()),
            _ => panic!("{name}: no directive {key}"),
        }
    }
    let mut last = "";
    for line in lines.by_ref().take_while(|line| *line != ">>") {
        body.push_str(line);
        body.push_str(line_end);
        last = if line.is_empty() { last } else { line };
    }
    if repeat_lines > 0 {
        body.truncate(body.trim_end().len());
        body.push_str(&format!("\n{last}").repeat(repeat_lines));
    }
    if no_newline {
        body.truncate(body.trim_end().len());
    }
    let body = body.replace("REPEAT", &"x".repeat(repeat));
    case.body = if escapes { unescaped(&body) } else { body.into_bytes() };
    if bom {
        case.body.splice(..0, *b"\xef\xbb\xbf");
    }
    case.headers.push(("content-type".to_owned(), content_type));
    case.wanted = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    case
}

/// The corpus with other outcomes.
pub(super) fn rewritten(text: &str, outcomes: &[Vec<String>]) -> String {
    let mut sections = text.split("\n## ");
    let mut written = sections.next().unwrap_or_default().to_owned();
    for (section, outcome) in sections.zip(outcomes) {
        let end = section.find("\n>>").expect("each body has an end");
        written.push_str(&format!("\n## {}\n>>\n{}\n", &section[..end], outcome.join("\n")));
    }
    written
}

/// `\n` and `\xNN`, as bytes.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let code = rest
            .get(at + 2..at + 4)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        rest = match (rest.as_bytes().get(at + 1), code) {
            (Some(b'n'), _) => {
                bytes.push(b'\n');
                &rest[at + 2..]
            }
            (Some(b'x'), Some(code)) => {
                bytes.push(code);
                &rest[at + 4..]
            }
            _ => {
                bytes.push(b'\\');
                &rest[at + 1..]
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// One block that is not compressed.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("small").to_le_bytes();
    let mut block = vec![1];
    block.extend_from_slice(&length);
    block.extend(length.iter().map(|byte| !byte));
    block.extend_from_slice(bytes);
    block
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    let length = u32::try_from(bytes.len()).expect("small");
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    gzip.extend(stored(bytes));
    gzip.extend_from_slice(&(!crc).to_le_bytes());
    gzip.extend_from_slice(&length.to_le_bytes());
    gzip
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    let mut zlib = vec![0x78, 0x01];
    zlib.extend(stored(bytes));
    zlib.extend_from_slice(&(high << 16 | low).to_be_bytes());
    zlib
}
