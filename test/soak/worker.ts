import { work } from '../workers/work.js';
import { agents } from './agents.js';
import { sampleOnSignal } from './sample.js';

/** A worker of the soak. Segments are short, so that runs are cut as well. */
sampleOnSignal();
await work({ agents, turnsPerSegment: 3 });
