import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { defineAgent, functionModel } from '../../src/index.js';
import { inPieces } from '../harness/in-pieces.js';
import { say } from '../harness/script.js';
import { place } from './place.js';

const text = Array.from({ length: 60 }, (_, n) => `piece ${n}, `).join('');

const model = inPieces(
  functionModel('talker', () => [say(text)]),
  10,
  async (piece) => {
    await sleep(30);
    if (piece === 30) place('stream:middle');
  },
);

/** Says a text in pieces; its process may die in the middle. */
export const talker = defineAgent({ agent: new Agent({ name: 'talker', model }), stream: true });
