//! The terminal as a picture (SVG): what was shown, in the order and the time in which it was. The end stands still for
//! a while, then it begins again. Where nothing moves, the end is what is seen.

use super::screen::Line;
use super::style::{Colour, Style};
use std::fmt::Write as _;
use std::time::Duration;

/// Columns of the terminal in the picture.
pub(super) const COLUMNS: usize = 92;
/// Lines of it that are seen at once.
const ROWS: usize = 53;

/// In pixels.
const COLUMN: f64 = 8.4;
const ROW: f64 = 19.0;
const SIZE: f64 = 14.0;
const SIDE: f64 = 18.0;
/// The bar of the window.
const BAR: f64 = 38.0;
const BOTTOM: f64 = 16.0;

/// How much slower than it was it is told, and how long its end stands, in seconds.
const SLOWER: f64 = 2.2;
const HOLD: f64 = 7.0;

const BACKGROUND: &str = "#11151c";
const FRAME: &str = "#2b313b";
const TEXT: &str = "#d6dbe4";

pub(super) fn draw(lines: &[Line]) -> String {
    let mut svg = String::new();
    let prompt = |spans| Line {
        at: Duration::ZERO,
        spans,
    };
    let prompt = [
        prompt(vec![
            (Style::GREEN.bold(), " $ ".to_owned()),
            (Style::PLAIN, "countersign demo --yes".to_owned()),
        ]),
        prompt(Vec::new()),
    ];
    let lines = &[&prompt, lines].concat();
    // Writing to a string does not fail.
    let _ = picture(&mut svg, lines);
    svg
}

fn picture(svg: &mut String, lines: &[Line]) -> std::fmt::Result {
    let width = COLUMN * COLUMNS as f64 + 2.0 * SIDE;
    let view = ROW * ROWS as f64;
    let height = BAR + view + BOTTOM;
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="countersign demo in a terminal">"#
    )?;
    let scrolled = lines.len().saturating_sub(ROWS) as f64 * ROW;
    writeln!(svg, "<style>")?;
    writeln!(
        svg,
        "text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:{TEXT};white-space:pre}}"
    )?;
    writeln!(svg, "{}", STYLES)?;
    writeln!(svg, "#page{{transform:translateY(-{scrolled}px)}}")?;
    motion(svg, lines)?;
    writeln!(svg, "</style>")?;
    writeln!(
        svg,
        r#"<rect width="{width:.0}" height="{height:.0}" rx="9" fill="{BACKGROUND}" stroke="{FRAME}"/>"#
    )?;
    for (index, colour) in ["#f4665e", "#f5bd4f", "#57c353"].iter().enumerate() {
        writeln!(
            svg,
            r#"<circle cx="{}" cy="19" r="6" fill="{colour}"/>"#,
            22 + 20 * index
        )?;
    }
    writeln!(
        svg,
        r#"<text x="{:.0}" y="24" text-anchor="middle" class="d">countersign demo</text>"#,
        width / 2.0
    )?;
    writeln!(
        svg,
        r#"<svg x="0" y="{BAR}" width="{width:.0}" height="{view}"><g id="page">"#
    )?;
    for (index, line) in lines.iter().enumerate() {
        text(svg, index, line)?;
    }
    // What has not been shown yet is covered.
    let length = ROW * lines.len() as f64;
    writeln!(
        svg,
        r#"<rect id="cover" x="1" y="{length}" width="{:.0}" height="{}" fill="{BACKGROUND}"/>"#,
        width - 2.0,
        length + view
    )?;
    writeln!(svg, "</g></svg>\n</svg>")
}

const STYLES: &str = ".b{font-weight:700}.d{fill:#7d8798}.i{font-style:italic}.red{fill:#f5776d}.green{fill:#74c774}\
.yellow{fill:#e3bb62}.blue{fill:#7bb2f5}.cyan{fill:#5fcbd3}";

fn text(svg: &mut String, index: usize, line: &Line) -> std::fmt::Result {
    if line.spans.iter().all(|(_, text)| text.trim().is_empty()) {
        return Ok(());
    }
    let y = ROW * index as f64 + SIZE;
    write!(svg, r#"<text y="{y}">"#)?;
    let mut column = 0;
    for (style, text) in &line.spans {
        let length = text.chars().count();
        let words = text.trim_start();
        let start = column + length - words.chars().count();
        let words = words.trim_end();
        column += length;
        let count = words.chars().count();
        if count == 0 {
            continue;
        }
        // The width is said, too, so that the columns hold in every font.
        write!(
            svg,
            r#"<tspan x="{:.1}" textLength="{:.1}" lengthAdjust="spacingAndGlyphs"{}>"#,
            SIDE + COLUMN * start as f64,
            COLUMN * count as f64,
            class(*style)
        )?;
        escape(svg, words);
        svg.push_str("</tspan>");
    }
    writeln!(svg, "</text>")
}

fn class(style: Style) -> String {
    let mut names = Vec::new();
    names.extend(style.bold.then_some("b"));
    names.extend(style.dim.then_some("d"));
    names.extend(style.italic.then_some("i"));
    names.extend(style.colour.map(|colour| match colour {
        Colour::Red => "red",
        Colour::Green => "green",
        Colour::Yellow => "yellow",
        Colour::Blue => "blue",
        Colour::Cyan => "cyan",
    }));
    if names.is_empty() {
        return String::new();
    }
    format!(r#" class="{}""#, names.join(" "))
}

fn escape(svg: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => svg.push_str("&amp;"),
            '<' => svg.push_str("&lt;"),
            '>' => svg.push_str("&gt;"),
            c => svg.push(c),
        }
    }
}

/// The page scrolls and its cover sinks, line by line. It begins with the end, so that the first thing seen is whole.
fn motion(svg: &mut String, lines: &[Line]) -> std::fmt::Result {
    let last = lines.last().map_or(Duration::ZERO, |line| line.at).as_secs_f64() * SLOWER;
    let total = HOLD + last;
    let mut page = String::new();
    let mut cover = String::new();
    let mut at = |time: f64, shown: usize| -> std::fmt::Result {
        let percent = time / total * 100.0;
        let hidden = ROW * (lines.len() - shown) as f64;
        write!(cover, "{percent:.2}%{{transform:translateY(-{hidden}px)}}")?;
        let scrolled = ROW * shown.saturating_sub(ROWS) as f64;
        write!(page, "{percent:.2}%{{transform:translateY(-{scrolled}px)}}")
    };
    at(0.0, lines.len())?;
    at(HOLD, 0)?;
    let mut before = 0.0;
    for (index, line) in lines.iter().enumerate() {
        let time = line.at.as_secs_f64() * SLOWER;
        // Lines that came together are one picture.
        let is_last_of_many = lines
            .get(index + 1)
            .is_none_or(|next| (next.at.as_secs_f64() * SLOWER - before) > 0.04);
        if is_last_of_many {
            at((HOLD + time).min(total), index + 1)?;
            before = time;
        }
    }
    writeln!(svg, "@media (prefers-reduced-motion:no-preference){{")?;
    for name in ["page", "cover"] {
        writeln!(svg, "#{name}{{animation:{name} {total:.1}s step-end infinite}}")?;
    }
    writeln!(svg, "}}")?;
    writeln!(svg, "@keyframes page{{{page}}}")?;
    writeln!(svg, "@keyframes cover{{{cover}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_columns_and_its_text_is_escaped() {
        let line = Line {
            at: Duration::from_millis(10),
            spans: vec![
                (Style::DIM, "   1 ".to_owned()),
                (Style::PLAIN, "  if a < b && c".to_owned()),
            ],
        };
        let blank = Line {
            at: Duration::from_millis(20),
            spans: Vec::new(),
        };
        let svg = draw(&[line, blank]);
        assert!(svg.contains(">if a &lt; b &amp;&amp; c</tspan>"), "{svg}");
        let x = SIDE + COLUMN * 7.0;
        assert!(svg.contains(&format!(r#"x="{x:.1}""#)), "{svg}");
        assert!(svg.trim_end().ends_with("</svg>"));
        assert_eq!(
            svg.matches("<text").count(),
            3,
            "title, prompt and the line that is not blank"
        );
    }
}
