import type { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord, type JsonValue, toJson } from '../../core/json.js';
import type {
  Machine,
  MachineContext,
  MachineEvent,
  MachineStateRule,
  MachineStep,
} from '../../core/machines/machine.js';
import { firstUnknownName } from '../../core/nearest-name.js';
import { readingsOf, textIn } from '../../core/plans/plan-input.js';
import { type InputReader, StateMachineModel } from '../../models/machines/state-machine-model.js';
import { type DeclaredTool, isDeclared } from '../../tools/define/define-tool.js';
import { problemBy, problemOf } from '../../tools/define/schema-parse.js';
import type { AgentDeclaration } from '../agents/define.js';
import { agentOfProgram, KEPT_NAMES } from '../plans/define-plan.js';

type Kept =
  | 'version'
  | 'grants'
  | 'allowEverything'
  | 'separateRequester'
  | 'concurrency'
  | 'rate'
  | 'environment'
  | 'maxDurationMs'
  | 'maxElapsedMs'
  | 'budget'
  | 'maxTurns';

/** A state of a machine: what its data are, and the states that may follow it. Default of `to`: all. */
export interface StateDeclaration {
  readonly data: z.ZodType;
  readonly to?: readonly string[];
}

export type StateDeclarations = { readonly [name: string]: StateDeclaration };

/** One of the states, with its data. */
export type StateOf<S extends StateDeclarations> = {
  [K in keyof S & string]: { readonly name: K; readonly data: z.output<S[K]['data']> };
}[keyof S & string];

/** What a transition gives: the next state, and the calls that are made in it, or the output that ends the run. */
export interface StepOf<S extends StateDeclarations> extends Omit<MachineStep, 'state'> {
  readonly state: { [K in keyof S & string]: { readonly name: K; readonly data: z.input<S[K]['data']> } }[keyof S &
    string];
}

/** An agent that is a program. */
export interface StateMachineDeclaration<S extends StateDeclarations, I extends z.ZodType = z.ZodType<string>>
  extends Pick<AgentDeclaration, Kept> {
  /** Runs of the machine are started by this name, like those of an agent. */
  readonly name: string;
  readonly description?: string;
  /** What a run is given, as JSON. Default: a text. */
  readonly input?: I;
  readonly states: S;
  readonly initial: StepOf<S>['state'];
  /** What a run gives. Default: any JSON. */
  readonly output?: z.ZodType;
  /** Tools that it calls. */
  readonly tools?: readonly DeclaredTool[];
  /** A pure function: the same for the same state, event and context. */
  readonly transition: (state: StateOf<S>, event: MachineEvent<z.output<I>>, context: MachineContext) => StepOf<S>;
}

const NAMES = {
  ...{ ...KEPT_NAMES, maxDurationMs: true, maxElapsedMs: true, budget: true, maxTurns: true },
  ...{ name: true, description: true, input: true, states: true, initial: true, output: true, tools: true },
  transition: true,
} as const satisfies { readonly [Name in keyof Required<StateMachineDeclaration<StateDeclarations>>]: true };

/**
 * A state machine among the `agents` of a configuration: an agent whose next calls a function of yours decides. Its runs are like those
 * of an agent. Throws `machine_invalid`, which says what is wrong.
 */
export function defineStateMachine<S extends StateDeclarations, I extends z.ZodType = z.ZodType<string>>(
  declaration: StateMachineDeclaration<S, I>,
): AgentDeclaration {
  const refuse = (why: string): never => {
    const called = isRecord(declaration) ? String(declaration.name) : 'without a name';
    throw new HoldfastError('machine_invalid', `The state machine ${called} is not valid: ${why}.`);
  };
  if (!isRecord(declaration)) return refuse('expected an object');
  refuseUnknown('it', declaration, Object.keys(NAMES), refuse);
  const { name, description, input, states, initial, output, tools = [], transition, ...rest } = declaration;
  if (typeof name !== 'string' || name === '') refuse('it has no name');
  if (typeof transition !== 'function') refuse('`transition` is no function');
  const rules = rulesOf(states, refuse);
  if (input !== undefined && !isSchema(input)) refuse('`input` is no zod schema');
  if (output !== undefined && !isSchema(output)) refuse('`output` is no zod schema');
  if (!Array.isArray(tools)) refuse('`tools` is no list');
  for (const tool of tools)
    if (!isRecord(tool) || !isDeclared(tool)) refuse('it has a tool that defineTool did not make');
  const names = tools.map((tool) => tool.name);
  const double = names.find((tool, index) => names.indexOf(tool) < index);
  if (double !== undefined) refuse(`two tools have the name ${double}`);
  const machine: Machine = {
    name,
    initial: initialOf(rules, initial, refuse),
    states: rules,
    outputProblem: outputProblemOf(output),
    tools: new Set(names),
    // The states and events that it gets were read by the schemas that its types are made of.
    transition: transition as Machine['transition'],
  };
  const model = new StateMachineModel(machine, inputBy(input));
  const instructions = [description ?? `The state machine ${name}.`, ...graphOf(rules)].join('\n');
  return agentOfProgram({ name, instructions, model, tools }, rest);
}

type Refuse = (why: string) => never;

/** A field that nothing reads would be missed only when a run does otherwise. */
function refuseUnknown(what: string, given: object, known: readonly string[], refuse: Refuse): void {
  const first = firstUnknownName(given, known);
  if (first !== undefined) refuse(`${what} has ${first.name}, which ${first.detail}`);
}

const isSchema = (value: unknown): value is z.ZodType => isRecord(value) && typeof value['safeParse'] === 'function';

function rulesOf(states: StateDeclarations, refuse: Refuse): ReadonlyMap<string, MachineStateRule> {
  const names = new Set(Object.keys(states ?? {}));
  if (names.size === 0) refuse('it has no states');
  const rules = Object.entries(states).map(([name, declared]): [string, MachineStateRule] => {
    // A program in JavaScript may give anything.
    const { data, to } = (declared as StateDeclaration | null) ?? {};
    refuseUnknown(`the state ${name}`, declared ?? {}, ['data', 'to'], refuse);
    if (!isSchema(data)) return refuse(`the data of the state ${name} are no zod schema`);
    if (to !== undefined && !Array.isArray(to)) refuse(`\`to\` of the state ${name} is no list`);
    const unknown = to?.find((other) => !names.has(other));
    if (unknown !== undefined) refuse(`the state ${name} leads to ${unknown}, which is not among its states`);
    return [name, { read: (value) => readBy(data, value), to: to === undefined ? null : new Set(to) }];
  });
  return new Map(rules);
}

function initialOf(
  rules: ReadonlyMap<string, MachineStateRule>,
  initial: { readonly name: string; readonly data: unknown },
  refuse: Refuse,
): Machine['initial'] {
  const rule = rules.get(initial?.name) ?? refuse('`initial` names none of its states');
  refuseUnknown('`initial`', initial, ['name', 'data'], refuse);
  const reached = new Set([initial.name]);
  for (const name of reached) for (const next of rules.get(name)?.to ?? rules.keys()) reached.add(next);
  const never = [...rules.keys()].filter((name) => !reached.has(name));
  if (never.length > 0) refuse(`nothing leads to the states ${never.join(', ')}`);
  try {
    return { name: initial.name, data: rule.read(initial.data) };
  } catch (error) {
    return refuse(`the data of \`initial\` do not fit: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readBy(schema: z.ZodType, value: unknown): JsonValue {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new Error(problemOf(parsed.error));
  return toJson(parsed.data);
}

function outputProblemOf(schema: z.ZodType | undefined): Machine['outputProblem'] {
  if (schema === undefined) return () => null;
  return problemBy(schema);
}

/** Reads what a run is given: a text, or JSON where the machine has a schema of it. */
const inputBy =
  (schema: z.ZodType | undefined): InputReader =>
  (given) => {
    const text = textIn(given);
    if (text === null) return { ok: false, why: 'expected a text; a state machine has no conversation' };
    if (schema === undefined) return { ok: true, input: text };
    const unfit = (why: string) => ({
      ok: false as const,
      why: `it does not fit the schema of the machine: ${why.replace(/\.$/, '')}`,
    });
    try {
      const [first, ...others] = readingsOf(text).map((reading) => schema.safeParse(reading));
      const fitting = [first, ...others].find((one) => one?.success);
      if (fitting?.success) return { ok: true, input: toJson(fitting.data) };
      return unfit(first?.error === undefined ? '' : problemOf(first.error));
    } catch (error) {
      // A schema may have code of its own, which fails.
      return unfit(error instanceof Error ? error.message : String(error));
    }
  };

/** Its states as people read them in its definition. */
const graphOf = (rules: ReadonlyMap<string, MachineStateRule>): readonly string[] =>
  [...rules].map(
    ([name, { to }]) => `${name} -> ${to === null ? 'any state' : [...to].join(', ') || 'no other state'}`,
  );
