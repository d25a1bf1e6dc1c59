import { z } from 'zod';

/** What goes to and comes from `POST /api/chat`, after ollama/ollama `api/types.go`. */

export interface OllamaCall {
  readonly id: string;
  readonly function: { readonly index: number; readonly name: string; readonly arguments: object };
}

export interface OllamaMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly thinking?: string;
  /** Base64 of images, and of sounds where a model takes them. */
  readonly images?: readonly string[];
  readonly tool_calls?: readonly OllamaCall[];
  readonly tool_name?: string;
  readonly tool_call_id?: string;
}

export interface OllamaTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

export interface OllamaRequest {
  readonly model: string;
  readonly messages: readonly OllamaMessage[];
  readonly tools?: readonly OllamaTool[];
  readonly format?: string | object;
  readonly think?: boolean | string;
  /** Seconds, or a duration as "10m"; 0 unloads the model at once and -1 never. */
  readonly keep_alive?: number | string;
  /** False: a prompt that is longer than the context is an error, not cut. */
  readonly truncate?: boolean;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly options?: Readonly<Record<string, unknown>>;
}

const call = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.unknown().optional() }),
});

/** One line of the answer. The last one has `done: true`, the reason and the counts. */
export const ollamaChunk = z.object({
  model: z.string().nullish(),
  created_at: z.string().nullish(),
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z.array(call).nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  logprobs: z.array(z.unknown()).nullish(),
  prompt_eval_count: z.number().nullish(),
  prompt_eval_cached_count: z.number().nullish(),
  eval_count: z.number().nullish(),
  total_duration: z.number().nullish(),
  load_duration: z.number().nullish(),
  prompt_eval_duration: z.number().nullish(),
  eval_duration: z.number().nullish(),
});
export type OllamaChunk = z.infer<typeof ollamaChunk>;
