import { z } from 'zod';
import { keptArtifacts } from '../artifacts/kept-artifacts.js';
import { OBJECT_STORE_CODES } from '../errors/object-store-errors.js';
import { idText } from '../json.js';
import { idPath } from './fields.js';
import { operation } from './operation.js';

export const ARTIFACT_OPERATIONS = {
  listArtifacts: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/artifacts',
    summary: 'List what was kept of an attempt at a task, whether it was verified, failed or was cancelled.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: keptArtifacts,
    errors: ['run_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  readArtifact: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/artifacts/{name}',
    summary: 'Download an artifact, after its bytes were compared with the log.',
    access: { tenant: 'viewer' },
    pathParams: idPath.extend({ name: idText }),
    media: 'application/octet-stream',
    response: z.string(),
    errors: ['run_unknown', 'artifact_unknown', 'artifact_damaged', 'artifacts_unreadable', ...OBJECT_STORE_CODES],
    args: ({ path }, { caller }) => [path.id, path.name, caller],
  }),
};
