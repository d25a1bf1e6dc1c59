import { isObject, type JsonObject, type JsonValue, sameJson } from '../../../core/json.js';
import { parseTask, type TaskDefinition } from '../../../core/tasks/task-definition.js';
import { yaml } from '../../formats.js';

const plain = (task: TaskDefinition): JsonObject => JSON.parse(JSON.stringify(task));

/** What is said where nothing is. */
const unsaid = (): JsonObject =>
  plain(
    parseTask({
      ...{ name: 'any', version: '0.0.0', instruction: 'any', category: 'any', difficulty: 'easy' },
      environment: { image: 'any' },
      verification: { tests: [{ name: 'any', command: 'true' }] },
    }),
  );

/** A file of mode 644 is its text. */
const short = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(short);
  if (!isObject(value)) return value;
  const { text, mode, ...others } = value;
  if (typeof text === 'string' && mode === '644' && Object.keys(others).length === 0) return text;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, short(inner)]));
};

const without = (value: JsonObject, said: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const other = said[key];
      if (sameJson(inner, other)) return [];
      return [[key, isObject(inner) && isObject(other) ? without(inner, other) : inner]];
    }),
  );

const shortened = (said: JsonObject): JsonObject =>
  Object.fromEntries(
    ['initialFiles', 'verification', 'solution'].flatMap((key) =>
      key in said ? [[key, short(said[key] ?? null)]] : [],
    ),
  );

/** A definition as YAML, without what goes without saying. */
export function definitionText(task: TaskDefinition): string {
  const { name, version, category, difficulty, instruction } = task;
  const { metadata = {}, ...rest } = plain(task);
  const { environment = {}, ...said } = without(rest, unsaid());
  const named = { image: task.environment.image, ...(isObject(environment) ? environment : {}) };
  const whole = { name, version, category, difficulty, instruction, ...said, environment: named, metadata };
  // Metadata may hold anything, also what looks like a file.
  return yaml().stringify({ ...whole, ...shortened(said) }, { lineWidth: 0 });
}
