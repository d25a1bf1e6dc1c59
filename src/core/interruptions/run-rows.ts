import { z } from 'zod';
import { usdText } from '../money.js';
import { runStatus, runView } from '../runs/run.js';
import { INTERRUPTION_KINDS } from './interruption.js';

/** Runs that a search by text looks at; the newest ones that fit the rest. */
export const SEARCHED_MOST = 10_000;
/** Characters of an input that are shown. */
export const INPUT_CHARS = 160;

export const searchText = z
  .string()
  .min(1)
  .max(200)
  .describe('A beginning of the id, or a text in the first 4,096 characters of the input; letters are alike in case.');

/** In which order runs stand: the newest, the dearest or those that took longest first. */
export const RUN_ORDERS = ['newest', 'cost', 'duration'] as const;
export type RunOrder = (typeof RUN_ORDERS)[number];

/** A run as a list shows it: what it was given is cut, and what it gave is left out. */
export const runRow = z
  .object({
    id: z.string(),
    agent: z.string(),
    agentVersion: z.string(),
    status: runStatus,
    errorCode: z.string().nullable(),
    waitingFor: z
      .object({
        kind: z.enum(INTERRUPTION_KINDS).describe('Of the one that was asked for first.'),
        count: z.int(),
        oldestAt: z.iso.datetime(),
        expiresAt: z.iso.datetime().nullable().describe('The first time at which one of them expires.'),
      })
      .nullable()
      .describe('Null: it is not paused.'),
    inputPreview: z.string().describe(`The first ${INPUT_CHARS} characters.`),
    sessionId: z.string().nullable(),
    turns: z.int(),
    totalTokens: z.int(),
    costUsd: usdText.nullable(),
    workedMs: z.int().describe('Milliseconds of its segments that have ended.'),
    parentRunId: z.string().nullable(),
    forkedFrom: z.object({ runId: z.string(), seq: z.int() }).nullable(),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
    integrity: runView.shape.integrity,
  })
  .meta({ id: 'RunRow' });
export type RunRowView = z.infer<typeof runRow>;
