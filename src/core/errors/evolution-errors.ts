import { type ErrorRow, row } from './error-row.js';

/** Errors of patches of agents: part of the one table of errors (error-table.ts). */
export const EVOLUTION_ERRORS = {
  patch_invalid: row(
    422,
    'stop',
    'The patch cannot be applied',
    'Correct the operation that is named; read the definition that the patch starts from.',
  ),
  patch_widens_grants: row(
    403,
    'stop',
    'The patch would let the agent reach more',
    'Change grants, tools and handoffs in the configuration, which people review; a patch cannot.',
  ),
  patch_loosens_approval: row(
    403,
    'stop',
    'The patch would have fewer people asked',
    'Change rules of approval in the configuration, which people review; a patch cannot.',
  ),
  patch_out_of_reach: row(
    403,
    'stop',
    'The patch changes what no patch may change',
    'Patch instructions, model, modelSettings, or take tools and handoffs away; of a plan, patch its nodes and its output.',
  ),
  patch_stale: row(
    409,
    'stop',
    'The patch starts from another definition',
    'Read the present definition (`holdfast evolve status`), and propose a patch of that.',
  ),
  agent_version_none: row(
    409,
    'stop',
    'No version of the agent is live',
    'Propose a patch first; without one, runs have the definition of the configuration.',
  ),
} as const satisfies Record<string, ErrorRow>;
