import { work } from '../workers/work.js';
import { asking } from './asking.js';

await work({ agents: [asking], dockerHost: process.env['ENGINE_HOST'] ?? '' });
