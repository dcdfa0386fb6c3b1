/**
 * What the pickers of the model and of its effort show. What is in force is always among it, whatever the lists say. No page here, so that
 * plain node can test it.
 */
import type { Model, ThreadSettings } from "../protocol";
import type { Choices } from "./wire";

export interface Picker {
  readonly options: readonly { readonly value: string; readonly title: string }[];
  /** The value of the option that is in force. */
  readonly value: string;
}

/** The models by their places in the list; that in force, where it is not in the list, has an empty value. */
export function modelPicker(models: readonly Model[], settings: Pick<ThreadSettings, "model" | "modelProvider"> | undefined, chosen: Choices["model"]): Picker {
  const id = chosen?.id ?? settings?.model;
  const provider = chosen?.provider ?? settings?.modelProvider;
  const at = models.findIndex((one) => one.id === id && (provider === undefined || one.provider === provider));
  const options = models.map((one, i) => ({ value: String(i), title: one.displayName.trim() === "" ? one.id : one.displayName }));
  return at < 0 ? { options: [{ value: "", title: id === undefined || id.trim() === "" ? "Default model" : id }, ...options], value: "" } : { options, value: String(at) };
}

/** The efforts that a model knows; none where it knows none. One that is in force and that it does not name stands first. */
export function effortPicker(model: Model | undefined, settings: Pick<ThreadSettings, "effort"> | undefined, chosen: string | undefined): Picker {
  const efforts = model?.supportedReasoningEfforts ?? [];
  const inForce = chosen ?? settings?.effort ?? model?.defaultReasoningEffort ?? "";
  const known = efforts.map((one) => ({ value: one, title: one }));
  if (efforts.length === 0) return { options: [], value: "" };
  return efforts.includes(inForce) ? { options: known, value: inForce } : { options: [{ value: inForce, title: inForce === "" ? "Default effort" : inForce }, ...known], value: inForce };
}
