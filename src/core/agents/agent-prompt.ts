import { type JsonObject, type JsonValue, jsonObject, objectsIn } from '../json.js';

/** A tool as a model is offered it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** What an agent is told before the conversation, as far as its kept definition says. */
export interface AgentPrompt {
  /** Null: they are computed, or the definition is not known. */
  readonly instructions: string | null;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
}

const COMPUTED = '(computed)';
const ANYTHING: JsonObject = { type: 'object', properties: {} };

const textOr = (value: JsonValue | undefined, other: string): string => (typeof value === 'string' ? value : other);

function toolIn(tool: JsonObject): readonly [string, ToolDefinition] {
  const name = textOr(tool['name'], '');
  const parameters = jsonObject.safeParse(tool['input']).data ?? ANYTHING;
  return [name, { name, description: textOr(tool['description'], ''), parameters }];
}

function promptIn(definition: JsonObject): AgentPrompt {
  const { instructions, tools } = definition;
  const known = typeof instructions === 'string' && instructions !== COMPUTED && instructions !== '';
  return { instructions: known ? instructions : null, tools: new Map(objectsIn(tools).map(toolIn)) };
}

/** The agents of a kept definition by name: the agent of the run, and those that it can hand over to. */
export function promptsIn(definition: JsonValue): ReadonlyMap<string, AgentPrompt> {
  const own = jsonObject.safeParse(definition).data;
  if (own === undefined) return new Map();
  return new Map([own, ...objectsIn(own['agents'])].map((one) => [textOr(one['name'], ''), promptIn(one)]));
}

/** A tool by name. What the definition does not say, as of a tool of an MCP server or a handoff, is left open. */
export const toolNamed = (prompt: AgentPrompt | undefined, name: string): ToolDefinition =>
  prompt?.tools.get(name) ?? { name, description: '', parameters: ANYTHING };
