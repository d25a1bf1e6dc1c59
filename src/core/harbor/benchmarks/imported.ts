import { HoldfastError } from '../../errors/errors.js';
import { isObject, type JsonObject } from '../../json.js';
import { parseTask, type TaskDefinition, type TaskInput } from '../../tasks/task-definition.js';

/** What becomes of the items of a benchmark that others made. */

/** Where programs in Python are tried whose benchmark names no image. */
export const PYTHON_IMAGE = 'python:3.13-slim';

export interface ImportOptions {
  /** The image of each task; null: that of the format. */
  readonly image: string | null;
}

/** What was not taken over as it is, and the items that this concerns. */
export interface ImportNote {
  readonly text: string;
  readonly items: readonly string[];
}

export interface ImportReport {
  readonly tasks: readonly TaskDefinition[];
  readonly notes: readonly ImportNote[];
  /** Items that are no task, each with its reason. */
  readonly left: readonly { readonly item: string; readonly why: string }[];
}

export class NotFitting extends Error {}

/** Collects the tasks of a benchmark, and what did not fit. */
export class Importing {
  readonly #tasks = new Map<string, TaskDefinition>();
  readonly #notes = new Map<string, string[]>();
  readonly #left: { item: string; why: string }[] = [];

  /** Makes one task. What is wrong with it leaves this item out and no other. */
  take(item: string, make: (note: (text: string) => void) => TaskInput): void {
    const notes: string[] = [];
    try {
      const task = parseTask(make((text) => void notes.push(text)));
      if (this.#tasks.has(task.name)) throw new NotFitting(`another item has the name ${task.name}`);
      this.#tasks.set(task.name, task);
      for (const text of notes) {
        const items = this.#notes.get(text) ?? [];
        items.push(item);
        this.#notes.set(text, items);
      }
    } catch (error) {
      if (!(error instanceof NotFitting || error instanceof HoldfastError)) throw error;
      this.refuse(item, error.message);
    }
  }

  refuse(item: string, why: string): void {
    this.#left.push({ item, why });
  }

  report(): ImportReport {
    const notes = [...this.#notes].map(([text, items]) => ({ text, items }));
    return { tasks: [...this.#tasks.values()], notes, left: this.#left };
  }
}

/** A line of a benchmark in JSONL, or why it is none. */
export interface BenchmarkLine {
  readonly line: number;
  readonly value: unknown;
}

/** The objects of JSONL; what is none is left out. */
export function objectsIn(lines: readonly BenchmarkLine[], importing: Importing): readonly [string, JsonObject][] {
  return lines.flatMap(({ line, value }): [string, JsonObject][] => {
    if (isObject(value)) return [[`line ${line}`, value as JsonObject]];
    importing.refuse(`line ${line}`, 'it is no JSON object');
    return [];
  });
}

export const textIn = (value: JsonObject, key: string): string | null => {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : null;
};

/** Throws `NotFitting` where there is no text. */
export function neededText(value: JsonObject, key: string): string {
  const found = textIn(value, key);
  if (found === null) throw new NotFitting(`its field ${key} is no text`);
  return found;
}

/** Notes each field that no task has a place for. */
export function noteUnread(value: JsonObject, read: ReadonlySet<string>, note: (text: string) => void): void {
  for (const key of Object.keys(value)) if (!read.has(key)) note(`field ${key}: left out`);
}
