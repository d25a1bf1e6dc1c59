import { z } from 'zod';
import { eventName } from '../interruptions/wait.js';
import { type JsonObject, type JsonValue, jsonObject, jsonValue, nameText } from '../json.js';

/** Calls of a plan that begin in one turn, where it says nothing. */
export const DEFAULT_AT_ONCE = 50;
/** Items of a map, where it says nothing. */
export const DEFAULT_MOST = 100;
/** Nodes of a plan, those inside of others too. */
export const MOST_NODES = 2000;
/** People whose approval a node asks for. */
export const MOST_APPROVALS = 20;
/** Items of a map, and rounds of a loop. */
const MOST_ROUNDS = 1000;
/** As long as the tools of waits wait: 30 days. */
const LONGEST_WAIT_SECONDS = 30 * 24 * 3600;

export const nodeId = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'expected [a-z][a-z0-9_]* of at most 64 characters');
const expression = z.string().min(1).max(2000);

const common = {
  description: z.string().max(1000).exactOptional(),
  after: z.array(nodeId).max(100).exactOptional(),
};

const retry = z.strictObject({
  attempts: z.int().min(2).max(20),
  firstSeconds: z.number().min(0).max(86_400).exactOptional(),
  longestSeconds: z.number().min(0).max(86_400).exactOptional(),
});
const undo = z.strictObject({
  tool: z.string().min(1).max(64),
  arguments: jsonObject.exactOptional(),
  capabilities: z.array(z.string().max(4096)).min(1).max(100).exactOptional(),
});

const toolNode = z.strictObject({
  ...common,
  type: z.literal('tool'),
  tool: z.string().min(1).max(64),
  arguments: jsonObject.exactOptional(),
  capabilities: z.array(z.string().max(4096)).min(1).max(100).exactOptional(),
  bounds: jsonObject.exactOptional(),
  retry: retry.exactOptional(),
  undo: undo.exactOptional(),
});

const agentNode = z.strictObject({
  ...common,
  type: z.literal('agent'),
  agent: nameText,
  input: jsonValue,
  retry: retry.exactOptional(),
  undo: undo.exactOptional(),
});

const askNode = z
  .strictObject({
    ...common,
    type: z.literal('ask'),
    question: jsonValue.exactOptional(),
    choices: z.array(z.string().min(1).max(1000)).min(1).max(100).exactOptional(),
    schema: jsonObject.exactOptional(),
    approval: jsonValue.exactOptional(),
    approvals: z.int().min(1).max(MOST_APPROVALS).exactOptional(),
  })
  .refine((node) => (node.question === undefined) !== (node.approval === undefined), 'expected question or approval')
  .refine(
    ({ question, choices, schema }) => question !== undefined || (choices === undefined && schema === undefined),
    'expected choices and schema beside a question alone',
  )
  .refine(
    ({ approval, approvals }) => approval !== undefined || approvals === undefined,
    'expected approvals beside an approval alone',
  );

const waitNode = z
  .strictObject({
    ...common,
    type: z.literal('wait'),
    seconds: jsonValue.exactOptional(),
    until: jsonValue.exactOptional(),
    event: eventName.exactOptional(),
    key: jsonValue.exactOptional(),
    timeoutSeconds: z.number().min(1).max(LONGEST_WAIT_SECONDS).exactOptional(),
  })
  .refine(
    ({ seconds, until, event }) => [seconds, until, event].filter((one) => one !== undefined).length === 1,
    'expected one of seconds, until, event',
  )
  .refine(
    ({ event, key, timeoutSeconds }) => event !== undefined || (key === undefined && timeoutSeconds === undefined),
    'expected key and timeoutSeconds beside an event alone',
  )
  .refine(
    ({ seconds }) => typeof seconds !== 'number' || seconds <= LONGEST_WAIT_SECONDS,
    `expected at most ${LONGEST_WAIT_SECONDS} seconds`,
  );

/** Nodes inside of a node, and what they give together. */
interface Block {
  readonly nodes: { readonly [id: string]: PlanNode };
  readonly output?: JsonValue;
}

interface Common {
  readonly description?: string;
  readonly after?: string[];
}

export interface ParallelNode extends Common, Block {
  readonly type: 'parallel';
}
export interface MapNode extends Common, Block {
  readonly type: 'map';
  readonly over: JsonValue;
  readonly most?: number;
  readonly atOnce?: number;
}
export interface LoopNode extends Common, Block {
  readonly type: 'loop';
  readonly until: string;
  readonly most: number;
}
export interface BranchNode extends Common {
  readonly type: 'branch';
  readonly cases: readonly (Block & { readonly when: string })[];
  readonly else?: Block;
}

export type CallNode =
  | z.infer<typeof toolNode>
  | z.infer<typeof agentNode>
  | z.infer<typeof askNode>
  | z.infer<typeof waitNode>;
export type GroupNode = ParallelNode | MapNode | LoopNode | BranchNode;
export type PlanNode = CallNode | GroupNode;

const nodes = z.record(
  nodeId,
  z.lazy((): z.ZodType<PlanNode> => planNode),
);
const block = { nodes, output: jsonValue.exactOptional() };

const planNode: z.ZodType<PlanNode> = z.discriminatedUnion('type', [
  toolNode,
  agentNode,
  askNode,
  waitNode,
  z.strictObject({ ...common, ...block, type: z.literal('parallel') }),
  z.strictObject({
    ...{ ...common, ...block, type: z.literal('map'), over: jsonValue },
    most: z.int().min(1).max(MOST_ROUNDS).exactOptional(),
    atOnce: z.int().min(1).max(200).exactOptional(),
  }),
  z.strictObject({
    ...{ ...common, ...block, type: z.literal('loop'), until: expression },
    most: z.int().min(1).max(MOST_ROUNDS),
  }),
  z.strictObject({
    ...{ ...common, type: z.literal('branch') },
    cases: z
      .array(z.strictObject({ when: expression, ...block }))
      .min(1)
      .max(50),
    else: z.strictObject(block).exactOptional(),
  }),
]);

/** A plan as JSON: docs/agents/plans.md. */
export const planDocument = z.strictObject({
  description: z.string().max(8192).exactOptional(),
  input: jsonObject.exactOptional(),
  atOnce: z.int().min(1).max(200).exactOptional(),
  ...block,
});
export type PlanDocument = z.infer<typeof planDocument>;

/** A call that a node makes, or that takes back what one did. */
export interface CompiledCall {
  /** The way to its node: `each.pay`. */
  readonly path: string;
  /** Where it stands in the document. */
  readonly at: string;
  readonly node: CallNode;
  readonly tool: string;
  /** A template of the arguments. */
  readonly arguments: JsonObject;
  /** What it may need at most, where the document says so. */
  readonly stated: readonly string[] | null;
}

/** A node with what must have ended before it begins. */
export interface CompiledNode {
  readonly id: string;
  readonly path: string;
  readonly node: PlanNode;
  readonly needs: readonly string[];
  /** Null: it has nodes inside. */
  readonly call: CompiledCall | null;
  /** What takes back what it did; null: nothing does. */
  readonly undo: CompiledCall | null;
  /** Nodes inside: one block, or of a branch one for each case and then that of `else`. */
  readonly blocks: readonly CompiledBlock[];
}

export interface CompiledBlock {
  /** In an order in which every node comes after those that it needs. */
  readonly nodes: readonly CompiledNode[];
  /** A template. */
  readonly output: JsonValue;
}

/** A plan that was found to be valid. */
export interface CompiledPlan {
  readonly document: PlanDocument;
  readonly block: CompiledBlock;
  /** Every node, those inside of others too. */
  readonly nodes: readonly CompiledNode[];
  /** Every call that it can make, those that take others back too. */
  readonly calls: readonly CompiledCall[];
}

/** Nodes inside of a node. */
export interface InnerBlock {
  readonly block: { readonly nodes: { readonly [id: string]: PlanNode }; readonly output?: JsonValue };
  readonly at: string;
  /** What stands on the way to its nodes, behind the node that it is in. */
  readonly key: string;
  /** What its templates and expressions read beside the input and nodes. */
  readonly names: readonly string[];
}

/** What a node says about when or over what its blocks run. */
export interface Condition {
  readonly type: 'expression' | 'template';
  readonly value: JsonValue;
  readonly at: string;
  readonly names: readonly string[];
}

const OF_MAP = ['item', 'index'];
const OF_LOOP = ['index', 'last'];

/** The blocks of a node: of a branch one for each case, and then that of `else`. */
export function innerBlocks(node: PlanNode, at: string): readonly InnerBlock[] {
  switch (node.type) {
    case 'parallel':
      return [{ block: node, at, key: '', names: [] }];
    case 'map':
      return [{ block: node, at, key: '', names: OF_MAP }];
    case 'loop':
      return [{ block: node, at, key: '', names: OF_LOOP }];
    case 'branch': {
      const cases = node.cases.map((block, index) => ({
        ...{ block, at: `${at}/cases/${index}`, key: `${index}.`, names: [] },
      }));
      if (node.else === undefined) return cases;
      return [...cases, { block: node.else, at: `${at}/else`, key: `${cases.length}.`, names: [] }];
    }
    default:
      return [];
  }
}

export function conditionsOf(node: PlanNode, at: string): readonly Condition[] {
  switch (node.type) {
    case 'map':
      return [{ type: 'template', value: node.over, at: `${at}/over`, names: [] }];
    case 'loop':
      return [{ type: 'expression', value: node.until, at: `${at}/until`, names: OF_LOOP }];
    case 'branch':
      return node.cases.map(({ when }, index) => ({
        ...{ type: 'expression' as const, value: when, at: `${at}/cases/${index}/when`, names: [] },
      }));
    default:
      return [];
  }
}
