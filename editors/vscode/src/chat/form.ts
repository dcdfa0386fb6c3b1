/**
 * Reads the form that an MCP server wants filled in, and what was filled in.
 */
import type { JsonValue } from "../protocol";

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice";
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  readonly required: boolean;
  readonly initial: string | boolean | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
}

type JsonObject = Record<string, JsonValue>;

const object = (value: JsonValue | undefined): JsonObject => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const text = (value: JsonValue | undefined): string | undefined => (typeof value === "string" ? value : undefined);
const number = (value: JsonValue | undefined): number | undefined => (typeof value === "number" ? value : undefined);
const texts = (value: JsonValue | undefined): string[] => (Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : []);

/** The fields of a schema. A field of a kind that cannot be asked for is a text. */
export function fieldsOf(schema: JsonValue): Field[] {
  const { properties, required } = object(schema);
  const needed = texts(required);
  return Object.entries(object(properties)).map(([name, value]) => {
    const field = object(value);
    const titles = texts(field["enumNames"]);
    const named = Array.isArray(field["oneOf"]) ? field["oneOf"].map(object).flatMap((one) => (text(one["const"]) === undefined ? [] : [{ value: text(one["const"]) ?? "", title: text(one["title"]) ?? text(one["const"]) ?? "" }])) : [];
    const choices = named.length > 0 ? named : texts(field["enum"]).map((one, i) => ({ value: one, title: titles[i] ?? one }));
    const type = field["type"];
    const initial = field["default"];
    return {
      name,
      title: text(field["title"]) ?? name,
      description: text(field["description"]),
      kind: choices.length > 0 ? "choice" : type === "boolean" ? "boolean" : type === "integer" ? "integer" : type === "number" ? "number" : "text",
      choices,
      required: needed.includes(name),
      initial: typeof initial === "boolean" ? initial : typeof initial === "string" || typeof initial === "number" ? String(initial) : undefined,
      minimum: number(field["minimum"]),
      maximum: number(field["maximum"]),
      minLength: number(field["minLength"]),
      maxLength: number(field["maxLength"]),
    };
  });
}

/** The value of a field from what was typed; `problem` says what is wrong with it. Neither for an optional field left empty. */
export function valueOf(field: Field, typed: string | boolean): { value?: JsonValue; problem?: string } {
  if (field.kind === "boolean") {
    return { value: typed === true || typed === "true" };
  }
  const given = String(typed);
  if (given.trim() === "") {
    return field.required ? { problem: `${field.title} is needed.` } : {};
  }
  switch (field.kind) {
    case "number":
    case "integer": {
      const value = Number(given);
      if (!Number.isFinite(value)) return { problem: `${field.title} must be a number.` };
      if (field.kind === "integer" && !Number.isInteger(value)) return { problem: `${field.title} must be a whole number.` };
      if (field.minimum !== undefined && value < field.minimum) return { problem: `${field.title} must be at least ${field.minimum}.` };
      if (field.maximum !== undefined && value > field.maximum) return { problem: `${field.title} must be at most ${field.maximum}.` };
      return { value };
    }
    case "choice":
      return field.choices.some((one) => one.value === given) ? { value: given } : { problem: `${field.title} must be one of the choices.` };
    case "text":
      if (field.minLength !== undefined && given.length < field.minLength) return { problem: `${field.title} needs at least ${field.minLength} characters.` };
      if (field.maxLength !== undefined && given.length > field.maxLength) return { problem: `${field.title} takes at most ${field.maxLength} characters.` };
      return { value: given };
  }
}
