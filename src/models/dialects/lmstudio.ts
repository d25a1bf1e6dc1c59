import type { Dialect } from './dialect.js';
import { fieldsIn, isFields, textIn, type UnknownFields } from './dialect.js';
import { TOLERANT } from './tolerant.js';

/** LM Studio refuses a `tool_choice` that is an object. A named tool is offered alone and required. */
export const LMSTUDIO: Dialect = { ...TOLERANT, name: 'lmstudio', request: withPlainChoice };

function withPlainChoice(body: UnknownFields): UnknownFields {
  const { tool_choice: choice, tools } = body;
  if (!isFields(choice) || !Array.isArray(tools)) return body;
  const name = textIn(fieldsIn(choice['function']), 'name');
  const named = tools.filter((tool: unknown) => textIn(fieldsIn(fieldsIn(tool)['function']), 'name') === name);
  return { ...body, tool_choice: 'required', tools: named.length === 0 ? tools : named };
}
