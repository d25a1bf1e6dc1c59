import { z } from 'zod';
import { eventName } from '../interruptions/wait.js';
import { type JsonObject, jsonObject, jsonValue, nameText } from '../json.js';

/** Calls of a plan that begin in one turn, where it says nothing. */
export const DEFAULT_AT_ONCE = 50;
export const MOST_NODES = 2000;

export const nodeId = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'expected [a-z][a-z0-9_]* of at most 64 characters');

const common = {
  description: z.string().max(1000).exactOptional().describe('What people read of it.'),
  after: z.array(nodeId).max(100).exactOptional().describe('Nodes that end before it, beside those that it refers to.'),
};

const toolNode = z.strictObject({
  ...common,
  type: z.literal('tool'),
  tool: z.string().min(1).max(64).describe('Name of a tool of the plan.'),
  arguments: jsonObject.exactOptional().describe('A template.'),
  capabilities: z
    .array(z.string().max(4096))
    .min(1)
    .max(100)
    .exactOptional()
    .describe('What the call may need at most, where its tool computes that from its arguments.'),
});

const agentNode = z.strictObject({
  ...common,
  type: z.literal('agent'),
  agent: nameText.describe('Name of an agent of the configuration, which may be another plan.'),
  input: jsonValue.describe('A template: a text, or what is sent as JSON.'),
});

const askNode = z
  .strictObject({
    ...common,
    type: z.literal('ask'),
    question: jsonValue.exactOptional().describe('A template of the text of a question.'),
    choices: z.array(z.string().min(1).max(1000)).min(1).max(100).exactOptional(),
    schema: jsonObject.exactOptional().describe('A JSON schema that the answer must fit.'),
    approval: jsonValue.exactOptional().describe('A template of what is to be approved, in place of a question.'),
    approvals: z.int().min(1).max(20).exactOptional().describe('How many people must approve. Default 1.'),
  })
  .refine((node) => (node.question === undefined) !== (node.approval === undefined), 'expected question or approval');

const waitNode = z
  .strictObject({
    ...common,
    type: z.literal('wait'),
    seconds: jsonValue.exactOptional().describe('A template of a number.'),
    until: jsonValue.exactOptional().describe('A template of a time, such as 2030-01-31T09:00:00Z.'),
    event: eventName.exactOptional().describe('Name of an event.'),
    key: jsonValue.exactOptional().describe('A template of the key of the event.'),
    timeoutSeconds: z.number().min(1).exactOptional().describe('Gives up on the event after so long.'),
  })
  .refine(
    ({ seconds, until, event }) => [seconds, until, event].filter((one) => one !== undefined).length === 1,
    'expected one of seconds, until, event',
  );

export const planNode = z.discriminatedUnion('type', [toolNode, agentNode, askNode, waitNode]);
export type PlanNode = z.infer<typeof planNode>;

/** A plan as JSON. */
export const planDocument = z
  .strictObject({
    description: z.string().max(8192).exactOptional(),
    input: jsonObject
      .exactOptional()
      .describe('A JSON schema of the input, which runs get as JSON text. Without one: the input is a text.'),
    atOnce: z.int().min(1).max(200).exactOptional().describe('Calls that begin at once. Default 50.'),
    nodes: z.record(nodeId, planNode),
    output: jsonValue
      .exactOptional()
      .describe('A template. Without one: the outputs of the nodes that no other node needs, by their names.'),
  })
  .meta({ id: 'Plan', description: 'Nodes, and what each gets from the input and from other nodes.' });
export type PlanDocument = z.infer<typeof planDocument>;

/** One call of a tool, as every node becomes one. */
export interface CompiledNode {
  readonly id: string;
  readonly node: PlanNode;
  readonly tool: string;
  /** A template of the arguments. */
  readonly arguments: JsonObject;
  /** Nodes that must have ended before it begins. */
  readonly needs: readonly string[];
}

/** A plan that was found to be valid. */
export interface CompiledPlan {
  readonly document: PlanDocument;
  /** In an order in which every node comes after those that it needs. */
  readonly nodes: readonly CompiledNode[];
  /** Nodes on the longest way through it. */
  readonly depth: number;
}
