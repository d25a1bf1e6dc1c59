import { inspect } from 'node:util';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import type { RunScaffold } from '../../../workflows/segment-context.js';
import type { AgentView } from '../../core/agents/agent-view.js';
import { askedBudget } from '../../core/budgets/budget.js';
import type { AgentEnvironment } from '../../core/containers/environment.js';
import { environmentSpec } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsWithNames } from '../../core/field-errors.js';
import { type GrantSet, grantsToJson, parseGrants } from '../../core/grants/grants.js';
import { canonical, isRecord, type JsonObject, type JsonValue, nameText, sha256, toJson } from '../../core/json.js';
import { assertNoPlanCycle } from '../../core/plans/compile-plan.js';
import { type DispatchLimits, dispatchLimits } from '../../core/queue/dispatch.js';
import { type RunLimits, runLimits } from '../../core/runs/run.js';
import { type McpRules, mcpRules, serverLabel } from '../../core/tools/mcp.js';
import { isMemorySpace, type MemorySpace } from '../../core/tools/memory-space.js';
import { type PlainTools, plainTools, type ToolSpec } from '../../core/tools/tool.js';
import { StateMachineModel } from '../../models/machines/state-machine-model.js';
import { ProgramModel } from '../../models/program-model.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { isSecret } from '../../models/secrets/secret.js';
import { type DeclaredTool, toolSpecOf } from '../../tools/define/define-tool.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import { declaredCapabilities, planOf, planWithGrants, type RegisteredPlan } from '../plans/plan-grants.js';
import { type ProposedPlans, proposedPlansOf } from '../plans/plan-proposals.js';
import { agentScaffold, nameOfScaffold } from './agent-scaffold.js';
import { assertNamedApart, assertNames, assertServers, assertSubAgents } from './assert-reachable.js';
import {
  assertSameSpaces,
  configuredSpaces,
  type DeclaredState,
  declaredMemory,
  declaredState,
} from './declared-state.js';
import type { AgentDeclaration, AgentScaffold, EnvironmentDeclaration, HoldfastConfig } from './define.js';
import { assertOwnAgent } from './foreign-agent.js';
import { toolDefinition } from './tool-definition.js';

/**
 * What is kept of agents as they were when a run ran: all of them that can say something, and of functions that they are there. `tools`:
 * those of the first, with its scaffold's.
 */
function definitionOf(agent: Agent, tools: Agent['tools']): JsonObject {
  const others = reachableAgents(agent).slice(1);
  const agents = others.map((other) => ownDefinition(other, other.tools));
  return { ...ownDefinition(agent, tools), ...(others.length === 0 ? {} : { agents }) };
}

const modelNameOf = ({ model }: Agent): string => {
  if (typeof model === 'string') return model;
  return model instanceof ProgramModel ? model.kind : model.constructor.name;
};

const ownDefinition = (agent: Agent, tools: Agent['tools']): JsonObject => ({
  name: agent.name,
  model: modelNameOf(agent),
  instructions: typeof agent.instructions === 'string' ? agent.instructions : '(computed)',
  modelSettings: toJson(agent.modelSettings),
  output: outputOf(agent),
  tools: tools.map(toolDefinition),
  ...(agent.mcpServers.length === 0 ? {} : { mcpServers: agent.mcpServers.map(({ name }) => serverLabel(name)) }),
  handoffs: agent.handoffs.map((handoff) => ('agentName' in handoff ? handoff.agentName : handoff.name)),
});

/** The declared output as a JSON schema. */
function outputOf({ outputType }: Agent): JsonValue {
  const declared: unknown = outputType;
  return declared instanceof z.ZodType ? schemaOf(declared) : toJson(declared);
}

/** Of a schema of another zod nothing is read. */
const schemaOf = (schema: z.ZodType): JsonValue =>
  schema instanceof z.ZodType ? toJson(z.toJSONSchema(schema, { unrepresentable: 'any' })) : true;

/** Whether a value is a schema that can take an object. A union or a schema with code of its own may. */
function isObjectSchema(value: unknown): boolean {
  if (!isSchema(value)) return false;
  const schema = value instanceof z.ZodType ? schemaOf(value) : null;
  return !isRecord(schema) || schema['type'] === undefined || schema['type'] === 'object';
}

/** The environment of a declaration as values: of secrets only the names. */
function plainEnvironment(declared: EnvironmentDeclaration | undefined): { readonly environment?: object } {
  if (typeof declared !== 'object' || declared === null) return declared === undefined ? {} : { environment: declared };
  const { secrets, ...environment } = declared;
  return { environment: secrets === undefined ? environment : { ...environment, secrets: Object.keys(secrets) } };
}

/** What runs of an agent get, after its declaration was found to be valid. Throws `agent_invalid` for what is no secret. */
function agentEnvironment(declared: EnvironmentDeclaration | undefined): AgentEnvironment | null {
  if (declared === undefined) return null;
  const held = Object.entries(declared.secrets ?? {}).map(([name, secret]) => {
    const problem = isSecret(secret) ? (secret.problem ?? null) : 'it is none, such as secret.env(...)';
    if (problem !== null)
      throw new HoldfastError('agent_invalid', `The secret ${name} of the environment: ${problem}.`);
    return [name, new HeldSecret(secret)] as const;
  });
  return {
    spec: environmentSpec.parse(plainEnvironment(declared).environment),
    secrets: async () =>
      new Map(await Promise.all(held.map(async ([name, one]) => [name, await one.value()] as const))),
  };
}

export interface RegisteredAgent {
  readonly name: string;
  readonly version: string;
  readonly agent: Agent;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  readonly onDenied: 'stop' | 'tell';
  readonly onTruncated: 'fail' | 'continue';
  readonly pureCallbacks: boolean;
  /** Models that forks may name beside those of its definition. */
  readonly forkModels: readonly string[];
  /** What patches of it may put in the place of what it has. */
  readonly offers: { readonly tools: readonly DeclaredTool[]; readonly scaffolds: readonly AgentScaffold[] };
  /** What the agent and the engine say of who may approve. */
  readonly separateRequester: readonly (boolean | undefined)[];
  /** No part of the definition: how an answer comes changes nothing of what a run does. */
  readonly stream: boolean;
  /** What a context must be; null: its runs have none. */
  readonly context: z.ZodType | null;
  /** What the state of its runs is; null: they have none. */
  readonly state: DeclaredState | null;
  /** The memory of its runs; null: they have none. */
  readonly memory: ReadonlyMap<string, MemorySpace> | null;
  /** The plans that its runs bring with them; null: they bring none. */
  readonly proposals: ProposedPlans | null;
  readonly plainTools: PlainTools;
  readonly mcp: { readonly [server: string]: McpRules };
  /** Where commands of its runs execute; null: nowhere. */
  readonly environment: AgentEnvironment | null;
  readonly scaffold: RunScaffold | null;
  /** What it does in place of what a model says; null: it has a model. */
  readonly plan: RegisteredPlan | null;
  /** Null: it is no state machine. */
  readonly machine: StateMachineModel | null;
  /** No part of the definition either: when a run works changes nothing of what it does. */
  readonly dispatch: DispatchLimits;
  readonly definition: string;
  readonly definitionHash: string;
  readonly view: Omit<AgentView, 'marks'>;
  readonly toolSpecs: ReadonlyMap<string, ToolSpec>;
}

const DEFAULT_MAX_TURNS = 100;

/** Reads the agents of a configuration. Throws `agent_invalid` naming the agent and what is wrong with it. */
export function registerAgents(config: HoldfastConfig): ReadonlyMap<string, RegisteredAgent> {
  const agents = new Map<string, RegisteredAgent>();
  const spaces = configuredSpaces(config.memorySpaces ?? []);
  for (const [index, entry] of config.agents.entries()) {
    const registered = readably(index, () => register(isDeclaration(entry) ? entry : { agent: entry }, config, spaces));
    if (agents.has(registered.name))
      throw new HoldfastError('agent_invalid', `Two agents have the name ${registered.name}.`);
    agents.set(registered.name, registered);
  }
  for (const { name, agent, plan } of agents.values()) {
    assertSubAgents(name, agent, agents);
    assertNamedApart(name, agent);
    if (plan !== null) assertNoPlanCycle(name, plan.compiled, (of) => agents.get(of)?.plan?.compiled);
  }
  assertSameSpaces(agents.values(), spaces);
  return agents;
}

/** A plain agent may be one of another copy of the SDK, which is named. */
const isDeclaration = (entry: HoldfastConfig['agents'][number]): entry is AgentDeclaration =>
  !(entry instanceof Agent) && !('getAllTools' in entry);

/** An entry is the user's: a getter of it may throw. */
function readably<T>(index: number, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    const why = cause instanceof Error ? cause.message : inspect(cause);
    throw new HoldfastError('agent_invalid', `Entry ${index} of \`agents\` cannot be read: ${why}.`, { cause });
  }
}

const isLabel = (name: string): boolean => /[A-Za-z0-9_.-]/.test(name) && serverLabel(name) === name;

const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function';

const whole = z.int().min(1);
const declarationShape = z.strictObject({
  agent: z.instanceof(Agent),
  version: z.string().min(1).max(64).optional(),
  grants: z.array(z.unknown()).optional(),
  allowEverything: z.boolean().optional(),
  onDenied: z.enum(['stop', 'tell']).optional(),
  onTruncated: z.enum(['fail', 'continue']).optional(),
  callbacks: z.literal('pure').optional(),
  separateRequester: z.boolean().optional(),
  forkModels: z.array(nameText).optional(),
  stream: z.boolean().optional(),
  maxTurns: runLimits.shape.maxTurns.optional(),
  maxTotalTokens: whole.optional(),
  maxDurationMs: whole.optional(),
  maxElapsedMs: whole.optional(),
  budget: askedBudget.optional(),
  ...dispatchLimits.shape,
  environment: environmentSpec.optional(),
  scaffold: z.custom(() => true).optional(),
  context: z.union([z.literal(true), z.custom<z.ZodType>(isObjectSchema, 'a zod schema of an object')]).optional(),
  state: z.custom<z.ZodType>(isSchema, 'must be a zod schema').optional(),
  memory: z
    .array(z.union([z.custom<MemorySpace>(isMemorySpace, 'must be made by memorySpace()'), z.string()]))
    .min(1)
    .max(100)
    .optional(),
  plainTools: plainTools.optional(),
  mcp: z.record(z.string().refine(isLabel, 'is no name of a server as capabilities write it'), mcpRules).optional(),
});

function register(
  declaration: AgentDeclaration,
  ofEngine: HoldfastConfig,
  spaces: ReadonlyMap<string, MemorySpace>,
): RegisteredAgent {
  const { agent, version = '1', onDenied = 'stop', onTruncated = 'fail', stream = false } = declaration;
  const { mcp = {}, plainTools: ofPlain = {} } = declaration;
  const context = declaration.context === true ? z.record(z.string(), z.unknown()) : (declaration.context ?? null);
  assertOwnAgent(agent);
  if (!(agent instanceof Agent))
    throw new HoldfastError(
      'agent_invalid',
      'An entry of `agents` is neither an Agent of @openai/agents nor { agent }.',
    );
  assertDeclaration(declaration);
  const { name } = agent;
  assertNames(agent);
  assertServers(name, agent, mcp);
  const state = declaredState(name, declaration.state);
  const memory = declaredMemory(name, declaration.memory, spaces);
  const limits: RunLimits = {
    maxTurns: declaration.maxTurns ?? DEFAULT_MAX_TURNS,
    maxTotalTokens: declaration.maxTotalTokens ?? null,
    maxDurationMs: declaration.maxDurationMs ?? null,
    ...(declaration.maxElapsedMs === undefined ? {} : { maxElapsedMs: declaration.maxElapsedMs }),
    ...budgetIn(declaration, ofEngine),
  };
  const granted = grantsOf(declaration);
  const environment = agentEnvironment(declaration.environment);
  const scaffold = agentScaffold(declaration, granted, environment);
  const tools = [...agent.tools, ...(scaffold?.tools ?? [])];
  const specs = tools.flatMap((tool) => (tool.type === 'function' ? [toolSpecOf(tool)] : []));
  const toolSpecs = new Map(specs.map((spec) => [spec.name, spec]));
  const compiled = planOf(agent);
  const { plan, grants } =
    compiled === null
      ? { plan: null, grants: granted }
      : planWithGrants(name, compiled, toolSpecs, granted, (of) => grantsOfNamed(ofEngine, of));
  const definition = canonical({
    ...definitionOf(agent, tools),
    ...{ version, onDenied, limits, grants: grantsToJson(grants) },
    ...(declaration.onTruncated === undefined ? {} : { onTruncated }),
    ...givenOf(declaration),
    ...(context === null ? {} : { context: schemaOf(context) }),
    ...(declaration.state === undefined ? {} : { state: schemaOf(declaration.state) }),
    ...(memory === null ? {} : { memory: [...memory.values()].map((space) => space.definition) }),
    ...(declaration.plainTools === undefined ? {} : { plainTools: toJson(ofPlain) }),
    ...(declaration.mcp === undefined ? {} : { mcp: toJson(mcp) }),
    ...(environment === null ? {} : { environment: toJson(environment.spec) }),
    ...(scaffold === null ? {} : { scaffold: nameOfScaffold(scaffold) }),
    ...(compiled === null ? {} : { plan: toJson(compiled.document) }),
  });
  const definitionHash = sha256(definition);
  const model = modelNameOf(agent);
  const view: RegisteredAgent['view'] = {
    ...{ name, version, definitionHash, model: model === '' ? null : model, tools: specs.map((spec) => spec.name) },
    grants: grants.grants.map((grant) =>
      grant.effect === 'allow' ? grant.capability : `${grant.effect} ${grant.capability}`,
    ),
  };
  const { concurrency, rate } = declaration;
  const dispatch = { ...(concurrency === undefined ? {} : { concurrency }), ...(rate === undefined ? {} : { rate }) };
  return {
    ...{
      name,
      version,
      agent,
      grants,
      limits,
      onDenied,
      onTruncated,
      pureCallbacks: declaration.callbacks === 'pure',
      stream,
      context,
      state,
      memory,
      proposals: proposedPlansOf(agent),
      plainTools: ofPlain,
      mcp,
      environment,
      scaffold,
      plan,
      machine: agent.model instanceof StateMachineModel ? agent.model : null,
      dispatch,
    },
    ...{
      definition,
      definitionHash,
      view,
      toolSpecs,
      separateRequester: [declaration.separateRequester, ofEngine.separateRequester],
    },
    offers: offersTo(name, ofEngine),
    // A model cannot take the place of a program.
    forkModels:
      agent.model instanceof ProgramModel ? [] : [...(declaration.forkModels ?? []), ...(ofEngine.forkModels ?? [])],
  };
}

function offersTo(name: string, { evolution }: HoldfastConfig): RegisteredAgent['offers'] {
  if (!evolution?.agents.includes(name)) return { tools: [], scaffolds: [] };
  const { tools = [], scaffolds = [] } = evolution;
  return { tools, scaffolds };
}

/** The budget that a declaration gives each run; none where it says nothing. */
function budgetIn({ budget }: AgentDeclaration, { budgets }: HoldfastConfig): Pick<RunLimits, 'budget'> {
  if (budget === undefined) return {};
  const { usd, onExhausted = budgets?.onExhausted ?? 'ask' } = budget;
  return { budget: { usd, onExhausted } };
}

/** What was not given is no part of the definition, which stays that of before there was such a field. */
const givenOf = ({ callbacks, separateRequester }: AgentDeclaration): JsonObject => ({
  ...(callbacks === undefined ? {} : { callbacks }),
  ...(separateRequester === undefined ? {} : { separateRequester }),
});

/** A field that nothing reads is refused too: a limit that is misspelt is no limit. */
function assertDeclaration(declaration: AgentDeclaration): void {
  const given = { ...declaration, ...plainEnvironment(declaration.environment) };
  const { error } = declarationShape.safeParse(given);
  if (error === undefined) return;
  const fields = fieldErrorsWithNames(error, given, Object.keys(declarationShape.shape));
  const said = fields.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`).join('; ');
  throw new HoldfastError('agent_invalid', `The agent ${declaration.agent.name} is not valid: ${said}.`, { fields });
}

/** The capabilities that an agent of the configuration is granted; undefined: there is none of this name. */
function grantsOfNamed({ agents }: HoldfastConfig, name: string): readonly string[] | undefined {
  const found = agents
    .map((entry) => (isDeclaration(entry) ? entry : { agent: entry }))
    .find(({ agent }) => agent.name === name);
  return found && declaredCapabilities(grantsOf(found));
}

function grantsOf({ agent, grants = [], allowEverything = false }: AgentDeclaration): GrantSet {
  try {
    return parseGrants(grants, { allowEverything });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, message, fields, hint } = error;
    throw new HoldfastError(code, `The agent ${agent.name}: ${message}`, { cause: error, fields, hint });
  }
}
