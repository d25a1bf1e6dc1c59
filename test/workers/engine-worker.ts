import { labelsOf } from '../../src/core/containers/worker-offer.js';
import { agents } from './engine-agents.js';
import { work } from './work.js';

const { ENGINE = '', LABELS } = process.env;
const labels = LABELS === undefined ? {} : { workerLabels: labelsOf(LABELS) };
await work({ agents, dockerHost: ENGINE, dockerPatienceMs: 60_000, ...labels });
