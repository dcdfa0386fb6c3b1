//! How text looks: colours of the terminal's own palette, so that it fits every theme.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) colour: Option<Colour>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
}

impl Style {
    pub(super) const PLAIN: Self = Self {
        colour: None,
        bold: false,
        dim: false,
        italic: false,
    };
    pub(super) const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    pub(super) const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    pub(super) const THOUGHT: Self = Self {
        dim: true,
        italic: true,
        ..Self::PLAIN
    };
    pub(super) const RED: Self = Self::of(Colour::Red);
    pub(super) const GREEN: Self = Self::of(Colour::Green);
    pub(super) const YELLOW: Self = Self::of(Colour::Yellow);
    pub(super) const BLUE: Self = Self::of(Colour::Blue);
    pub(super) const CYAN: Self = Self::of(Colour::Cyan);

    const fn of(colour: Colour) -> Self {
        Self {
            colour: Some(colour),
            ..Self::PLAIN
        }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The sequence that switches it on (ECMA-48, SGR); empty for plain text.
    pub(super) fn sgr(self) -> String {
        let mut codes = Vec::new();
        codes.extend(self.bold.then_some(1));
        codes.extend(self.dim.then_some(2));
        codes.extend(self.italic.then_some(3));
        codes.extend(self.colour.map(|colour| match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Blue => 34,
            Colour::Cyan => 36,
        }));
        if codes.is_empty() {
            return String::new();
        }
        let codes: Vec<_> = codes.iter().map(u8::to_string).collect();
        format!("\x1b[{}m", codes.join(";"))
    }
}

/// A piece of a line.
pub(super) type Span = (Style, String);
