// Draws a terminal's screen (text with SGR sequences, as `tmux capture-pane -e` gives it) as SVG.
const basic = ["#1d2021", "#cc241d", "#98971a", "#d79921", "#458588", "#b16286", "#689d6a", "#a89984"];
const bright = ["#928374", "#fb4934", "#b8bb26", "#fabd2f", "#83a598", "#d3869b", "#8ec07c", "#ebdbb2"];

const hex = (n) => n.toString(16).padStart(2, "0");

function indexed(n) {
  if (n < 8) return basic[n];
  if (n < 16) return bright[n - 8];
  if (n < 232) {
    const level = (i) => (i === 0 ? 0 : 55 + i * 40);
    return `#${[Math.floor((n - 16) / 36), Math.floor((n - 16) / 6) % 6, (n - 16) % 6].map((i) => hex(level(i))).join("")}`;
  }
  return `#${hex(8 + (n - 232) * 10).repeat(3)}`;
}

/** One SGR sequence's numbers over a style. */
function restyle(style, numbers) {
  const next = { ...style };
  for (let i = 0; i < numbers.length; i += 1) {
    const n = numbers[i];
    if (n === 0) Object.assign(next, { fg: undefined, bg: undefined, bold: false, italic: false, under: false, swap: false, strike: false });
    else if (n === 1) next.bold = true;
    else if (n === 3) next.italic = true;
    else if (n === 4) next.under = true;
    else if (n === 7) next.swap = true;
    else if (n === 9) next.strike = true;
    else if (n === 22) next.bold = false;
    else if (n === 23) next.italic = false;
    else if (n === 24) next.under = false;
    else if (n === 27) next.swap = false;
    else if (n >= 30 && n < 38) next.fg = basic[n - 30];
    else if (n >= 40 && n < 48) next.bg = basic[n - 40];
    else if (n >= 90 && n < 98) next.fg = bright[n - 90];
    else if (n >= 100 && n < 108) next.bg = bright[n - 100];
    else if (n === 39) next.fg = undefined;
    else if (n === 49) next.bg = undefined;
    else if (n === 38 || n === 48) {
      const colour = numbers[i + 1] === 2 ? `#${numbers.slice(i + 2, i + 5).map(hex).join("")}` : indexed(numbers[i + 2]);
      next[n === 38 ? "fg" : "bg"] = colour;
      i += numbers[i + 1] === 2 ? 4 : 2;
    }
  }
  return next;
}

const wide = (char) => /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u.test(char);
// Blanks are kept as they are, which SVG does not promise of plain ones.
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(" ", "\u00a0");

/** The screen as an SVG picture. */
export function draw(screen, { paper = "#14161b", ink = "#e0e2ea" } = {}) {
  const [width, height] = [8.4, 18];
  const rows = screen.replace(/\n$/, "").split("\n");
  const parts = [];
  let columns = 80;
  // Colours go on from row to row until something else is said.
  let style = {};
  rows.forEach((row, y) => {
    let x = 0;
    // Sequences of OSC (links) are left out.
    const pieces = row.replace(/\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)/g, "").split(/(\u001b\[[\d;:]*m)/);
    for (const piece of pieces) {
      const sequence = /^\u001b\[([\d;:]*)m$/.exec(piece);
      if (sequence) {
        // An underline's shape (4:3) and colour (58) are drawn as a plain line.
        const plain = sequence[1].replace(/\b58[;:](?:5[;:]\d+|2[;:]{1,2}\d+[;:]\d+[;:]\d+)/g, "").replace(/4:(\d)/g, (_, n) => (n === "0" ? "24" : "4"));
        style = restyle(style, (plain === "" ? "0" : plain).split(/[;:]/).filter(Boolean).map(Number));
        continue;
      }
      const chars = [...piece];
      const cells = chars.reduce((sum, char) => sum + (wide(char) ? 2 : 1), 0);
      if (cells === 0) continue;
      let [fg, bg] = [style.fg ?? ink, style.bg];
      if (style.swap) [fg, bg] = [style.bg ?? paper, style.fg ?? ink];
      if (bg) parts.push(`<rect x="${(x * width).toFixed(1)}" y="${y * height}" width="${(cells * width).toFixed(1)}" height="${height}" fill="${bg}"/>`);
      if (piece.trim()) {
        const look = `${style.bold ? ' font-weight="bold"' : ""}${style.italic ? ' font-style="italic"' : ""}${style.under ? ' text-decoration="underline"' : ""}`;
        parts.push(`<text x="${(x * width).toFixed(1)}" y="${y * height + 13.5}" fill="${fg}"${look} textLength="${(cells * width).toFixed(1)}" lengthAdjust="spacingAndGlyphs">${escape(piece)}</text>`);
      }
      x += cells;
    }
    columns = Math.max(columns, x);
  });
  const [w, h] = [Math.ceil(columns * width), rows.length * height];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"><rect width="100%" height="100%" fill="${paper}"/><g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">${parts.join("")}</g></svg>\n`;
}
