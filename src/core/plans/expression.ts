import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { HoldfastError } from '../errors/errors.js';
import { canonical, isObject, type JsonValue } from '../json.js';
import { ValueBudget } from './value-budget.js';

/**
 * Expressions in CEL over what templates read. No macro, no pattern and no function of a user: how long one takes is bounded by its
 * own length and by the values that it names.
 */

const MOST_CHARACTERS = 2000;
/** Of a value that an error names. */
const SHOWN_MOST = 100;
/** Of the budget, whatever it names: it takes some microseconds to read. */
const PER_EXPRESSION = 3000;
const VARIABLES = ['input', 'nodes', 'item', 'index', 'last'] as const;
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['size', 'string', 'int', 'double', 'bool', 'startsWith', 'endsWith', 'contains', 'has'],
]);

const environment = VARIABLES.reduce(
  (made, name) => made.registerVariable(name, 'dyn'),
  new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 300, maxDepth: 30, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 4 },
  }),
);

type Parsed = ReturnType<typeof environment.parse>;

export interface ExpressionReading {
  /** What it reads, as JSON Pointers: at most the name of a node. */
  readonly pointers: readonly string[];
  /** Null: nothing is wrong. */
  readonly problem: string | null;
}

const wrong = (problem: string): ExpressionReading => ({ pointers: [], problem });

/** What an expression reads, and what is wrong with it. */
export function readExpression(text: string): ExpressionReading {
  if (text.length > MOST_CHARACTERS)
    return wrong(`has ${text.length} characters; at most ${MOST_CHARACTERS} are taken`);
  let parsed: Parsed;
  try {
    parsed = environment.parse(text);
    const checked = parsed.check();
    if (!checked.valid) return wrong(sayingOf(checked.error));
  } catch (error) {
    return wrong(sayingOf(error));
  }
  const pointers: string[] = [];
  const problem = walk(parsed.ast, pointers) ?? (pointers.length === 0 ? constantProblem(text) : null);
  return problem === null ? { pointers, problem } : wrong(problem);
}

/** One that reads nothing always gives the same: that it fails is known before it is asked. */
function constantProblem(text: string): string | null {
  try {
    evaluateExpression(text, {});
    return null;
  } catch (error) {
    return error instanceof HoldfastError ? sayingOf(error) : null;
  }
}

/**
 * The value of an expression. Throws `plan_failed`, also where the values that it names are more than `budget` allows: as it has no macro,
 * what it gives is no larger than those together.
 */
export function evaluateExpression(
  text: string,
  scope: { readonly [name: string]: JsonValue },
  budget = new ValueBudget(),
): JsonValue {
  try {
    budget.work(PER_EXPRESSION);
    const parsed = environment.parse(text);
    const pointers: string[] = [];
    walk(parsed.ast, pointers);
    for (const pointer of pointers) budget.take(namedBy(pointer, scope));
    const given = scope['nodes'];
    const names = pointers.flatMap((pointer) => nodeOf(pointer) ?? []);
    // Those alone that it names: a plan has many.
    const nodes = names.flatMap((name) => (isObject(given) && Object.hasOwn(given, name) ? [[name, given[name]]] : []));
    const named: { readonly [name: string]: JsonValue } = { ...scope, nodes: Object.fromEntries(nodes) };
    const values = Object.fromEntries(VARIABLES.map((name) => [name, forCel(named[name] ?? null)]));
    return fromCel(parsed(values));
  } catch (error) {
    throw new HoldfastError('plan_failed', `The expression ${text} failed: ${sayingOf(error)}.`, { cause: error });
  }
}

/** Whether an expression is true. Throws `plan_failed`, also where it gives something else than true or false. */
export function isTrue(text: string, scope: { readonly [name: string]: JsonValue }, budget?: ValueBudget): boolean {
  const value = evaluateExpression(text, scope, budget);
  if (typeof value === 'boolean') return value;
  const given = canonical(value).slice(0, SHOWN_MOST);
  throw new HoldfastError('plan_failed', `The expression ${text} gives ${given}, which is neither true nor false.`);
}

/** The name of a node in a pointer of an expression; null: it names something else. */
const nodeOf = (pointer: string): string | null =>
  pointer.startsWith('/nodes/') ? pointer.slice('/nodes/'.length) : null;

const memberOf = (nodes: JsonValue | undefined, name: string): JsonValue =>
  isObject(nodes) && Object.hasOwn(nodes, name) ? (nodes[name] ?? null) : null;

function namedBy(pointer: string, scope: { readonly [name: string]: JsonValue }): JsonValue {
  const node = nodeOf(pointer);
  return node === null ? (scope[pointer.slice(1)] ?? null) : memberOf(scope['nodes'], node);
}

/** The first line: the others draw the place. */
const sayingOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]?.replace(/\.$/, '') ?? '';

function walk(node: ASTNode, pointers: string[]): string | null {
  const each = (nodes: readonly ASTNode[]): string | null =>
    nodes.reduce<string | null>((problem, one) => problem ?? walk(one, pointers), null);
  const named = nodeNamed(node);
  if (named !== null) {
    pointers.push(`/nodes/${named}`);
    return null;
  }
  switch (node.op) {
    case 'value':
      return null;
    case 'id':
      if (node.args === 'nodes') return 'reads nodes without the name of one';
      if (!VARIABLES.some((name) => name === node.args)) return `reads ${node.args}, which is not there`;
      pointers.push(`/${node.args}`);
      return null;
    case '.':
    case '.?':
      return walk(node.args[0], pointers);
    case 'call':
      return FUNCTIONS.has(node.args[0]) ? each(node.args[1]) : `uses ${node.args[0]}, which is not taken`;
    case 'rcall':
      return FUNCTIONS.has(node.args[0])
        ? each([node.args[1], ...node.args[2]])
        : `uses ${node.args[0]}, which is not taken`;
    case 'list':
      return each(node.args);
    case 'map':
      // The library takes a member of this name for the prototype of the map.
      if (node.args.some(([key]) => key.op === 'value' && key.args === '__proto__'))
        return 'makes a member called __proto__, which is not taken';
      return each(node.args.flat());
    case '!_':
    case '-_':
      return walk(node.args, pointers);
    default:
      return each(node.args);
  }
}

/** The node that `nodes.x` or `nodes["x"]` names; null: it is something else. */
function nodeNamed(node: ASTNode): string | null {
  if (node.op === '.' && node.args[0].op === 'id' && node.args[0].args === 'nodes') return node.args[1];
  if (node.op !== '[]' || node.args[0].op !== 'id' || node.args[0].args !== 'nodes') return null;
  const [, key] = node.args;
  return key.op === 'value' && typeof key.args === 'string' ? key.args : null;
}

/** Whole numbers are those of CEL, so that one may be added to them; members are on objects without a prototype. */
function forCel(value: JsonValue): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(forCel);
  if (!isObject(value)) return value;
  return Object.assign(
    Object.create(null),
    Object.fromEntries(Object.entries(value).map(([name, one]) => [name, forCel(one)])),
  );
}

function wholeNumber(value: bigint): number {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  throw new Error(`it gives ${value}, which JSON carries only rounded; use double() or string()`);
}

/** Unsigned numbers, optional values and bytes are objects of classes. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function fromCel(value: unknown): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'bigint') return wholeNumber(value);
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Map || isPlain(value)) {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return Object.fromEntries(entries.map(([name, one]) => [String(name), fromCel(one)]));
  }
  throw new Error('it gives no JSON value');
}
