import { REDACTED } from './redaction.js';

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
export interface LogRecord {
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
const ITEMS_MAX = 50;
const DEPTH_MAX = 4;
/** Of `data` as JSON. */
const DATA_MAX = 12_000;

const SECRET_NAMES = new Set([
  ...['token', 'tokens', 'authorization', 'cookie', 'password', 'passwd', 'secret', 'secrets', 'credentials'],
  ...[
    'apikey',
    'api_key',
    'xapikey',
    'accesskey',
    'secretkey',
    'privatekey',
    'signingkey',
    'databaseurl',
    'connectionstring',
  ],
]);
const isSecret = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_ ]/g, ''));

/** A password in an address, and what follows the name of a way to authenticate. */
const IN_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:@/]{0,200}:)[^\s@/]{1,400}@/gi, `$1${REDACTED}@`],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,4000}/gi, `$1 ${REDACTED}`],
  [/\bsk-[\w-]{8,400}/g, REDACTED],
];

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;

const clean = (text: string, most = TEXT_MAX): string =>
  cut(
    IN_TEXTS.reduce((rest, [secret, instead]) => rest.replace(secret, instead), cut(text, 2 * most)),
    most,
  ).toWellFormed();

function errorOf(error: Error, depth: number): object {
  const { name, message, stack, cause } = error;
  const code: unknown = 'code' in error ? error.code : undefined;
  return {
    type: name,
    ...(typeof code === 'string' ? { code: clean(code) } : {}),
    message: clean(message),
    ...(stack === undefined ? {} : { stack: clean(stack, STACK_MAX) }),
    ...(cause === undefined || depth >= DEPTH_MAX ? {} : { cause: bounded(cause, depth + 1) }),
  };
}

/** A value without secrets, as JSON has it, and not larger than a line may be. */
function bounded(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return clean(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'boolean' || value === null || value === undefined) return value;
  if (typeof value !== 'object') return clean(String(value));
  if (value instanceof Error) return errorOf(value, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no time' : value.toISOString();
  if (depth >= DEPTH_MAX) return Array.isArray(value) ? '[…]' : '{…}';
  if (Array.isArray(value)) {
    const items: unknown[] = value.slice(0, ITEMS_MAX).map((item) => bounded(item, depth + 1));
    return value.length > ITEMS_MAX ? [...items, `… (${value.length} items)`] : items;
  }
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, ITEMS_MAX)
      .map(([name, item]) => [cut(name, 200).toWellFormed(), isSecret(name) ? REDACTED : bounded(item, depth + 1)]),
  );
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? clean(value) : undefined);

function dataOf(details: object): object {
  try {
    return bounded(details, 0) as object;
  } catch {
    return { unreadable: true };
  }
}

/**
 * What is written of a line: whoever said it, what happened, whom it is about, and the rest as `data`, without secrets and bounded. It
 * takes whatever it is given, and throws nothing.
 */
export function logRecord(fields: LogFields, message: string): LogRecord {
  const { component, event, taskId, runId, workerId, ...rest } = fields;
  const about = { taskId: text(taskId), runId: text(runId), workerId: text(workerId) };
  const data = dataOf(rest);
  const size = JSON.stringify(data).length;
  return {
    ...{ component: text(component) ?? 'unknown', event: text(event) ?? 'unknown' },
    ...(about.taskId === undefined ? {} : { taskId: about.taskId }),
    ...(about.runId === undefined ? {} : { runId: about.runId }),
    ...(about.workerId === undefined ? {} : { workerId: about.workerId }),
    message: clean(message),
    ...(Object.keys(data).length === 0 ? {} : { data: size > DATA_MAX ? { cut: true, characters: size } : data }),
  };
}
