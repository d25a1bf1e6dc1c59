import { REDACTED } from '../exports/redaction.js';
import {
  isRandomKey,
  isSecretName,
  isSecretNumberName,
  isValueOf,
  withoutSecretPatterns,
} from '../secrets/secret-patterns.js';

/** What a line of the log says beside its words. Never a payload, never a secret. */
export interface LogFields {
  /** Which part of the system says it: `worker`, `http`, `retention`. */
  readonly component: string;
  /** What happened, as a name that stays: `request`, `run_stranded`. */
  readonly event: string;
  readonly taskId?: string | null;
  readonly runId?: string | null;
  readonly workerId?: string | null;
  readonly [detail: string]: unknown;
}

/** A line of the log as machines read it, without its time and its level. */
interface LogRecord {
  readonly component: string;
  readonly event: string;
  readonly taskId?: string;
  readonly runId?: string;
  readonly workerId?: string;
  readonly message: string;
  readonly data?: unknown;
}

const TEXT_MAX = 2000;
const STACK_MAX = 4000;
const NAME_MAX = 200;
const ITEMS_MAX = 50;
const DEPTH_MAX = 4;
/** Bytes of a line, beside its time and its level. Collectors split a line at 16 KiB. */
const LINE_BYTES = 16_000;
/** Bytes of a message as JSON, where a character takes up to six. */
const MESSAGE_BYTES = 6300;

/** Fields of an object that is a header, a variable or a parameter: how it is called, and what it holds. */
const NAMING = /^(?:name|key|header|field|variable)$/i;
const VALUING = /^(?:values?|content)$/i;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Takes the secrets out that are known. Of a text that was cut, the end may be the beginning of one, and is left out too. */
type WithoutSecrets = (text: string, wasCut: boolean) => string;

/** Makes texts and values fit for a line. */
class LineText {
  readonly #known: WithoutSecrets;

  constructor(known: WithoutSecrets) {
    this.#known = known;
  }

  name(value: unknown): string | undefined {
    return typeof value === 'string' ? this.clean(value, NAME_MAX) : undefined;
  }

  message(text: string): string {
    const whole = this.clean(text);
    return bytesOf(whole) <= MESSAGE_BYTES ? whole : this.clean(text, MESSAGE_BYTES / 6 - 50);
  }

  clean(text: string, most = TEXT_MAX): string {
    const beginning = text.slice(0, 2 * most);
    const known = this.#known(beginning, beginning.length < text.length);
    const clean = withoutSecretPatterns(known);
    const isWhole = beginning.length === text.length && clean.length <= most;
    return (isWhole ? clean : `${clean.slice(0, most)}… (${text.length} characters)`).toWellFormed();
  }

  #error(error: Error, depth: number): object {
    const { name, message, stack, cause } = error;
    const code: unknown = 'code' in error ? error.code : undefined;
    return {
      type: name,
      ...(typeof code === 'string' ? { code: this.clean(code) } : {}),
      message: this.clean(message),
      ...(stack === undefined ? {} : { stack: this.clean(stack, STACK_MAX) }),
      ...(cause === undefined || depth >= DEPTH_MAX ? {} : { cause: this.#bounded(cause, depth + 1) }),
    };
  }

  /** A value without secrets, as JSON has it, and not larger than a line may be. */
  #bounded(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.clean(value);
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (typeof value === 'boolean' || value === null || value === undefined) return value;
    if (typeof value !== 'object') return this.clean(String(value));
    if (value instanceof Error) return this.#error(value, depth);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no time' : value.toISOString();
    if (depth >= DEPTH_MAX) return Array.isArray(value) ? '[…]' : '{…}';
    if (Array.isArray(value)) {
      const items: unknown[] = value
        .slice(0, ITEMS_MAX)
        .map((item, index) => (isValueOf(value[index - 1], item) ? REDACTED : this.#bounded(item, depth + 1)));
      return value.length > ITEMS_MAX ? [...items, `… (${value.length} items)`] : items;
    }
    const isNamed = Object.entries(value).some(([name, item]) => NAMING.test(name) && isValueOf(item, ''));
    return Object.fromEntries(
      Object.entries(value)
        .slice(0, ITEMS_MAX)
        .map(([name, item]) => [
          this.clean(name, NAME_MAX),
          isHidden(name, item) || (isNamed && VALUING.test(name)) ? REDACTED : this.#bounded(item, depth + 1),
        ]),
    );
  }

  data(details: object): object {
    try {
      return this.#bounded(details, 0) as object;
    } catch {
      return { unreadable: true };
    }
  }
}

/** Numbers of tokens are counts, and whether there is a key is no key. */
function isHidden(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'boolean') return false;
  if (typeof value === 'number') return isSecretNumberName(name);
  return isSecretName(name) || [value].flat().some((one) => isRandomKey(name, one));
}

/**
 * What is written of a line: who said it, what happened, whom it is about, and the rest as `data`, without secrets and bounded. It
 * takes whatever it is given, and throws nothing.
 */
export function logRecord(
  fields: LogFields,
  message: string,
  withoutSecrets: WithoutSecrets = (text) => text,
): LogRecord {
  const line = new LineText(withoutSecrets);
  const { component, event, taskId, runId, workerId, ...rest } = fields;
  const about = { taskId: line.name(taskId), runId: line.name(runId), workerId: line.name(workerId) };
  const record = {
    ...{ component: line.name(component) ?? 'unknown', event: line.name(event) ?? 'unknown' },
    ...(about.taskId === undefined ? {} : { taskId: about.taskId }),
    ...(about.runId === undefined ? {} : { runId: about.runId }),
    ...(about.workerId === undefined ? {} : { workerId: about.workerId }),
    message: line.message(message),
  };
  const data = line.data(rest);
  if (Object.keys(data).length === 0) return record;
  const isWhole = bytesOf(record) + bytesOf(data) <= LINE_BYTES;
  return { ...record, data: isWhole ? data : { cut: true, characters: JSON.stringify(data).length } };
}

/** Where the engine says what an operator should know. */
export interface EngineLog {
  readonly debug: (fields: LogFields, message: string) => void;
  readonly info: (fields: LogFields, message: string) => void;
  readonly warn: (fields: LogFields, message: string) => void;
  readonly error: (fields: LogFields, message: string) => void;
}
