/**
 * Making elements. Nothing here takes HTML: texts are texts, and what hides in them is shown, whoever wrote them.
 */
import { shown } from "../src/chat/words";

type Child = Node | string | undefined | false;

interface Props {
  class?: string;
  title?: string;
  label?: string;
  role?: string;
  href?: string;
  attrs?: Readonly<Record<string, string>>;
  on?: Partial<{ [K in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[K]) => void }>;
}

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (props.class !== undefined) made.className = props.class;
  if (props.title !== undefined) made.title = shown(props.title);
  if (props.label !== undefined) made.setAttribute("aria-label", shown(props.label));
  if (props.role !== undefined) made.setAttribute("role", props.role);
  for (const [name, value] of Object.entries(props.attrs ?? {})) made.setAttribute(name, value);
  for (const [name, handler] of Object.entries(props.on ?? {})) made.addEventListener(name, handler as EventListener);
  made.append(...children.filter((child): child is Node | string => child !== undefined && child !== false).map((child) => (typeof child === "string" ? shown(child) : child)));
  return made;
}

const PATHS = {
  add: "M8 3v10M3 8h10",
  list: "M2.5 4h11M2.5 8h11M2.5 12h11",
  search: "M7 3a4 4 0 1 0 .01 0M10 10l3.500 3.500",
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  check: "M3 8.5 6.5 12 13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  edit: "M3 13l.7-3L10.500 3.2l2.300 2.300L6 12.300z",
  copy: "M5.5 5.500h7v8h-7zM3.500 10.500v-8h7",
  up: "M8 12V4M4.500 7.500 8 4l3.500 3.500",
  down: "M8 4v8M4.500 8.500 8 12l3.500-3.500",
  window: "M2.500 3.500h11v9h-11zM2.500 6.500h11",
  image: "M2.500 3.500h11v9h-11zM2.500 11l3.500-3.500 2.500 2.500 2-2 3 3",
  fork: "M5 3v7M5 10a1.500 1.500 0 1 0 .01 0M11 3.500a1.500 1.500 0 1 0 .01 0M11 6.500c0 3-6 1.500-6 4",
  archive: "M2.500 3.500h11v3h-11zM3.500 6.500v6h9v-6M6.500 9h3",
  trash: "M3 4.500h10M6 4.500v-2h4v2M4.500 4.500l.500 9h6l.500-9",
  back: "M12 8H4M7.500 4.500 4 8l3.500 3.500",
} as const;

export type Icon = keyof typeof PATHS;

export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function button(text: string, press: () => void, props: Props & { icon?: Icon } = {}): HTMLButtonElement {
  const made = el("button", { ...props, attrs: { type: "button", ...props.attrs }, on: { ...props.on, click: () => { press(); } } });
  if (props.icon !== undefined) made.append(icon(props.icon));
  if (text !== "") made.append(shown(text));
  return made;
}

/** A button of a picture alone. */
export function iconButton(name: Icon, label: string, press: () => void): HTMLButtonElement {
  return button("", press, { class: "icon-button", title: label, label, icon: name });
}

const CONTROLS = "button, input, select, textarea, summary, a[href], [tabindex='0']";

/** The controls of a part of the page by what they belong to (`data-of`) and their names; of equal ones each has its number. */
function controls(root: HTMLElement): Map<string, HTMLElement> {
  const found = new Map<string, HTMLElement>();
  for (const one of root.querySelectorAll<HTMLElement>(CONTROLS)) {
    const of = one.closest<HTMLElement>("[data-of]")?.dataset["of"] ?? "";
    const name = `${one.tagName} ${of} ${one.tagName === "SUMMARY" ? "" : (one.getAttribute("aria-label") ?? one.textContent)}`;
    let number = 0;
    while (found.has(`${name} ${number}`)) number += 1;
    found.set(`${name} ${number}`, one);
  }
  return found;
}

/**
 * Draws a part of the page anew. Who is in it by the keyboard stays there: at the same control, else at the next one that is still there,
 * which never is one that has come in its place, else at `rest`. The focus of who is elsewhere is not touched.
 */
export function redraw(root: HTMLElement, draw: () => void, rest: HTMLElement = root): void {
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLElement) || activeElement === root || !root.contains(activeElement) || !document.hasFocus()) {
    draw();
    return;
  }
  const before = [...controls(root)];
  const at = before.findIndex(([, one]) => one === activeElement);
  draw();
  if (activeElement.isConnected) {
    return;
  }
  const after = controls(root);
  const name = [...before.slice(at), ...before.slice(0, at).reverse()].map(([one]) => one).find((one) => after.has(one));
  (after.get(name ?? "") ?? rest).focus({ preventScroll: true });
}
