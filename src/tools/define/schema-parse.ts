import type { z } from 'zod';
import type { JsonValue } from '../../core/json.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** How many fields are named in one problem. */
const NAMED_ISSUES = 10;
/** How often fields are taken out: a field inside a field shows only after the outer one is right. */
const PRUNINGS = 5;

/**
 * Parses the arguments of a model. Strict function calling makes every optional field required and nullable, so that a model
 * writes null for what it leaves out: a null that the schema refuses is taken for a field that is not there.
 */
export function parseArguments(schema: z.ZodType, args: JsonValue): z.ZodSafeParseResult<unknown> {
  let result = schema.safeParse(args);
  let current: unknown = args;
  for (let round = 0; round < PRUNINGS && !result.success; round++) {
    const paths = refusedNulls(result.error.issues, current, []);
    if (paths.length === 0) break;
    current = structuredClone(current);
    for (const path of paths) removeAt(current, path);
    result = schema.safeParse(current);
  }
  return result;
}

function refusedNulls(issues: readonly Issue[], root: unknown, base: Path): Path[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    if (valueAt(root, path) === null) return typeof path.at(-1) === 'string' ? [path] : [];
    if (issue.code !== 'invalid_union') return [];
    const branches = issue.errors.map((branch) => ({ branch, paths: refusedNulls(branch, root, path) }));
    return branches.find(({ branch, paths }) => paths.length > 0 && paths.length === branch.length)?.paths ?? [];
  });
}

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), root);

function removeAt(root: unknown, path: Path): void {
  const holder = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof holder === 'object' && holder !== null && key !== undefined) Reflect.deleteProperty(holder, key);
}

/** One sentence per field, for a model or a person to act on. */
export function problemOf(error: z.ZodError): string {
  const sentences = error.issues.slice(0, NAMED_ISSUES).map((issue) => `${fieldOf(issue.path)}: ${issue.message}.`);
  const more = error.issues.length - sentences.length;
  return more > 0 ? `${sentences.join(' ')} And ${more} more.` : sentences.join(' ');
}

/** Says what does not fit a schema; null: nothing. */
export const problemBy =
  (schema: z.ZodType) =>
  (value: JsonValue): string | null => {
    const parsed = schema.safeParse(value);
    return parsed.success ? null : problemOf(parsed.error);
  };

const fieldOf = (path: Path): string => (path.length === 0 ? 'The whole value' : `\`${path.map(String).join('.')}\``);
