import { AgentsError } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { causesOf, isAbort, isNetwork, statusOf } from '../failures/failure-causes.js';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { classifyModelFailure } from '../failures/model-failure.js';
import { StatusError } from './ollama-client.js';
import type { OllamaTarget } from './ollama-host.js';

/**
 * What a failed call throws: a ModelCallError that names the model, its host and the way out. Wrong requests, wrong answers
 * and aborts stay what they are.
 */
export function ollamaFailure(error: unknown, target: OllamaTarget, responseStarted: boolean): unknown {
  const chain = causesOf(error);
  if (isAbort(error) || error instanceof AgentsError) return error;
  if (error instanceof HoldfastError && !(error instanceof ModelCallError)) return error;
  const { code, message, retryable, retryAfterMs, hint: known } = classifyModelFailure(error);
  const statusCode = chain.map(statusOf).find((status) => status !== null) ?? null;
  const refused = chain.find((item) => item instanceof StatusError);
  const hint = known ?? signInOf(refused, target) ?? wayOut(target, code, statusCode, message, chain.some(isNetwork));
  return new ModelCallError(
    code === 'model_unknown' ? code : 'model_failed',
    failureText(`${target.model} at ${target.host}: ${message}`),
    {
      statusCode: error instanceof ModelCallError ? error.statusCode : statusCode,
      retryable,
      retryAfterMs,
      responseStarted,
      cause: error,
      ...(hint === null ? {} : { hint }),
    },
  );
}

/** A server that is not signed in at Ollama's cloud needs no key of ours. */
function signInOf(error: StatusError | undefined, { host }: OllamaTarget): string | null {
  if (error?.signIn == null || (error.status !== 401 && error.status !== 403)) return null;
  const { link } = error.signIn;
  return `Sign in: run "ollama signin" at ${host}${link === null ? '' : `, or open ${link}`}.`;
}

function wayOut(target: OllamaTarget, code: string, status: number | null, message: string, network: boolean) {
  if (code === 'model_unknown') return `Run "ollama pull ${target.model}" on ${target.host}, or use another model.`;
  if (status === 401 || status === 403) return `Check the key for ${target.host}.`;
  if (network) return 'Start the Ollama server, or set OLLAMA_HOST to where it runs.';
  if (/does not support tools/i.test(message)) return 'Use a model that supports tools, or an agent without tools.';
  return null;
}
