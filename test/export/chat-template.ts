import { Template } from '@huggingface/jinja';
import type { ChatMessage, ChatTool } from '../../src/core/exports/chat-row.js';

/**
 * A chat template as models with tools have them: tools in the system prompt, calls and results in tags, arguments written
 * with `tojson`, which makes a text in quotes of arguments that are a text already.
 */
const SOURCE = `
{%- if tools %}{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n' }}{%- endif %}
{{- '<tools>' }}{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}{{- '\\n</tools><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if message.reasoning_content is string %}{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n' }}{%- endif %}
{{- message.content }}
{%- if message.tool_calls %}{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}
{%- endfor %}{%- endif %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>tool\\n<tool_response name="' + message.name + '">\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

const template = new Template(SOURCE);

export const rendered = (
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[],
  { addGenerationPrompt = false } = {},
): string => template.render({ messages, tools, add_generation_prompt: addGenerationPrompt });

/** The calls of a rendered conversation, as a program reads them that gets the answer of a model. */
export const callsIn = (text: string): unknown[] =>
  [...text.matchAll(/<tool_call>\n(.*?)\n<\/tool_call>/gs)].map(([, call = '']) => JSON.parse(call));
