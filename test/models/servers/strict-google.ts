import { googleAnswer } from './google-wire.js';
import { Complaint, objects, recordOf, type StrictTurn, strict } from './strict-server.js';
import type { Answerer } from './wire-server.js';

const FIELDS = new Set(['contents', 'systemInstruction', 'generationConfig', 'tools', 'toolConfig', 'safetySettings']);

/** The fields of a part in a request. */
const PART = new Set(['text', 'thought', 'thoughtSignature', 'functionCall', 'functionResponse', 'inlineData']);

export const signatureOf = (turn: number): string => `CiQB0e2Kb1mT${turn}/+==`;

/** The documented signature of a call that another model made. */
const FOREIGN = 'skip_thought_signature_validator';

/** What a turn takes: 90 tokens of the prompt, 40 of them cached, 10 that a tool read, 30 of an answer and 20 of thoughts. */
export const COUNTS = {
  ...{ promptTokenCount: 90, cachedContentTokenCount: 40, toolUsePromptTokenCount: 10 },
  ...{ candidatesTokenCount: 30, thoughtsTokenCount: 20, totalTokenCount: 150 },
};

/**
 * A server that checks requests as Gemini 3 is documented to: known fields, all results of parallel calls in one content, and the
 * signature of each step on its first call. It answers turn by turn.
 */
export const strictGoogle = (turns: readonly StrictTurn[]): Answerer =>
  strict({
    turnOf: ({ contents }) => objects(contents).filter(({ role }) => role === 'model').length,
    check: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
      if (unknown !== undefined) throw new Complaint(`Invalid JSON payload received. Unknown name "${unknown}"`);
      checkContents(objects(body['contents']), turns);
    },
    refusal: (message) => JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
    turns,
    answer: (_said, turn) => googleAnswer(`resp_${turn}`, COUNTS),
    reasoning: signatureOf,
    isStreamed: ({ path }) => path.includes(':streamGenerateContent'),
  });

function checkContents(contents: readonly Record<string, unknown>[], turns: readonly StrictTurn[]): void {
  let open: readonly string[] = [];
  let turn = 0;
  for (const content of contents) {
    const parts = objects(content['parts']);
    for (const part of parts) checkPart(part);
    if (content['role'] === 'model') {
      checkSignature(parts, (turns[turn]?.own ?? true) ? signatureOf(turn) : FOREIGN);
      open = namesOf(parts, 'functionCall');
      turn++;
      continue;
    }
    if (JSON.stringify(namesOf(parts, 'functionResponse')) !== JSON.stringify(open)) throw new Complaint(UNEVEN);
    open = [];
  }
}

function checkPart(part: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(part).find((name) => !PART.has(name));
  if (unknown !== undefined) throw new Complaint(`Invalid JSON payload received. Unknown name "${unknown}"`);
}

/** A step is signed on its first call, an answer without calls on its last part. */
function checkSignature(parts: readonly Record<string, unknown>[], expected: string): void {
  const first = parts.find((part) => 'functionCall' in part);
  if (first === undefined && expected === FOREIGN) return;
  const { thoughtSignature: signature } = first ?? parts.findLast((part) => !('thought' in part)) ?? {};
  if (signature === undefined)
    throw new Complaint('Function call is missing a thought_signature in functionCall parts.');
  if (signature !== expected) throw new Complaint('Corrupted thought signature.');
}

const UNEVEN =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';

const namesOf = (parts: readonly Record<string, unknown>[], kind: 'functionCall' | 'functionResponse') =>
  parts.flatMap((part) => {
    const { name, id } = recordOf(part[kind]);
    return kind in part ? [`${name} ${id}`] : [];
  });
