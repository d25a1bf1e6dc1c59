import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { type AgentDeclaration, defineAgent } from '../engine/agents/define.js';
import { listFilesTool } from '../tools/files/list-files.js';
import { readFileTool } from '../tools/files/read-file.js';
import { payTool } from './pay.js';
import { sumExpensesTool } from './sum-expenses.js';

const line = { payee: z.string(), amount: z.number(), currency: z.string() };

export const treasurerAnswer = z.object({
  paid: z.array(z.object({ ...line, payment: z.string() })),
  notPaid: z.array(z.object({ ...line, reason: z.string() })),
  summary: z.string(),
});
export type TreasurerAnswer = z.infer<typeof treasurerAnswer>;

export const PAYMENTS_FILE = 'payments.jsonl';

export interface TreasurerOptions {
  /** Name of the model, with the prefix of its provider. */
  readonly model: string;
  /** Directory with the ledger and the policy; the agent may read there and nowhere else. */
  readonly filesDir: string;
  /** Directory of the payments file. */
  readonly workDir: string;
}

/** An agent that pays expense reports: it reads files, computes, and makes payments that cannot be taken back. */
export const treasurer = ({ model, filesDir, workDir }: TreasurerOptions): AgentDeclaration =>
  defineAgent({
    agent: new Agent({
      name: 'treasurer',
      model,
      instructions: [
        'You pay the expense reports of employees.',
        `The files are in the directory "${filesDir}": list them, then read the ledger and the policy, and follow the policy.`,
        'Add up with sum_expenses, never in your head. Make each payment with one call of pay, one after the other.',
        'Then answer which payments were made and which were not, and why.',
      ].join('\n'),
      tools: [listFilesTool(), readFileTool(), sumExpensesTool(), payTool(join(workDir, PAYMENTS_FILE))],
      outputType: treasurerAnswer,
    }),
    grants: [`fs:read:${filesDir}/**`, 'tool:call:sum_expenses', 'payments:pay:EUR', 'payments:pay:GBP'],
    maxTurns: 40,
  });
