import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AtifStep, AtifTrajectory } from '../../src/core/exports/atif.js';

/** What ATIF 1.7 allows, written down as a JSON Schema (Harbor, RFC 0001), and the rules that no schema can say. */

const text = { type: 'string' };
const filled = { type: 'string', minLength: 1 };
const count = { type: 'integer', minimum: 0 };
const extra = { type: 'object' };
const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $ref: '#/$defs/trajectory',
  $defs: {
    content: {
      anyOf: [
        text,
        {
          type: 'array',
          items: {
            anyOf: [
              closed({ type: { const: 'text' }, text }, ['type', 'text']),
              closed(
                {
                  type: { const: 'image' },
                  source: closed(
                    { media_type: { enum: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] }, path: text },
                    ['media_type', 'path'],
                  ),
                },
                ['type', 'source'],
              ),
            ],
          },
        },
      ],
    },
    tool: closed(
      {
        type: { const: 'function' },
        function: closed({ name: filled, description: text, parameters: { type: 'object' } }, ['name']),
      },
      ['type', 'function'],
    ),
    call: closed({ tool_call_id: filled, function_name: text, arguments: { type: 'object' }, extra }, [
      'tool_call_id',
      'function_name',
      'arguments',
    ]),
    result: closed({
      source_call_id: filled,
      content: { $ref: '#/$defs/content' },
      subagent_trajectory_ref: {
        type: 'array',
        items: {
          ...closed({ trajectory_id: filled, trajectory_path: filled, session_id: filled, extra }),
          anyOf: [{ required: ['trajectory_id'] }, { required: ['trajectory_path'] }],
        },
      },
      extra,
    }),
    metrics: closed({
      prompt_tokens: count,
      completion_tokens: count,
      cached_tokens: count,
      cost_usd: { type: 'number', minimum: 0 },
      prompt_token_ids: { type: 'array', items: count },
      completion_token_ids: { type: 'array', items: count },
      logprobs: { type: 'array', items: { type: 'number' } },
      extra,
    }),
    step: {
      ...closed(
        {
          step_id: { type: 'integer', minimum: 1 },
          timestamp: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d' },
          source: { enum: ['system', 'user', 'agent'] },
          model_name: filled,
          reasoning_effort: { type: ['string', 'number'] },
          message: { $ref: '#/$defs/content' },
          reasoning_content: text,
          tool_calls: { type: 'array', items: { $ref: '#/$defs/call' } },
          observation: closed({ results: { type: 'array', items: { $ref: '#/$defs/result' } } }, ['results']),
          metrics: { $ref: '#/$defs/metrics' },
          is_copied_context: { type: 'boolean' },
          llm_call_count: count,
          extra,
        },
        ['step_id', 'source', 'message'],
      ),
      if: { properties: { source: { enum: ['system', 'user'] } } },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: {
        not: {
          anyOf: ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'].map((name) => ({
            required: [name],
          })),
        },
      },
    },
    trajectory: closed(
      {
        schema_version: { const: 'ATIF-v1.7' },
        session_id: filled,
        trajectory_id: filled,
        agent: closed(
          {
            name: filled,
            version: filled,
            model_name: filled,
            tool_definitions: { type: 'array', items: { $ref: '#/$defs/tool' } },
            extra,
          },
          ['name', 'version'],
        ),
        steps: { type: 'array', minItems: 1, items: { $ref: '#/$defs/step' } },
        notes: text,
        final_metrics: closed({
          total_prompt_tokens: count,
          total_completion_tokens: count,
          total_cached_tokens: count,
          total_cost_usd: { type: 'number', minimum: 0 },
          total_steps: count,
          extra,
        }),
        continued_trajectory_ref: filled,
        extra,
        subagent_trajectories: { type: 'array', items: { $ref: '#/$defs/trajectory', required: ['trajectory_id'] } },
      },
      ['schema_version', 'agent', 'steps'],
    ),
  },
};

const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true }).compile(
  SCHEMA,
);

/** What is wrong with a document. */
export function atifProblems(document: unknown): string[] {
  if (!validate(document))
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  return rulesOf(document as AtifTrajectory);
}

function rulesOf(document: AtifTrajectory): string[] {
  const below = document.subagent_trajectories ?? [];
  const ids = new Set(below.map(({ trajectory_id }) => trajectory_id));
  const all = document.steps.flatMap(({ tool_calls = [] }) => tool_calls.map(({ tool_call_id }) => tool_call_id));
  return [
    ...(ids.size === below.length ? [] : ['two sub-agents have one id']),
    ...(new Set(all).size === all.length ? [] : ['a call is there twice']),
    ...document.steps.flatMap((step, index) => stepProblems(step, index, ids)),
    ...below.flatMap(rulesOf),
  ];
}

function stepProblems(step: AtifStep, index: number, below: ReadonlySet<string>): string[] {
  const calls = new Set((step.tool_calls ?? []).map(({ tool_call_id }) => tool_call_id));
  const results = step.observation?.results ?? [];
  const refs = results.flatMap(({ subagent_trajectory_ref = [] }) => subagent_trajectory_ref);
  return [
    ...(step.step_id === index + 1 ? [] : [`step ${index + 1} has the id ${step.step_id}`]),
    ...results.flatMap(({ source_call_id: id }) => (calls.has(id) ? [] : [`the call ${id} is of another step`])),
    ...refs.flatMap(({ trajectory_id: id }) => (below.has(id) ? [] : [`the sub-agent ${id} is not there`])),
    ...(step.llm_call_count === 0 && (step.metrics ?? step.reasoning_content) !== undefined
      ? [`step ${step.step_id} was not asked of a model, and has metrics`]
      : []),
  ];
}
