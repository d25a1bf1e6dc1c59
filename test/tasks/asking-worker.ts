import { work } from '../workers/work.js';
import { asking } from './asking.js';

await work({
  agents: [asking],
  hostFolders: [{ path: '/tmp', writable: true }],
  dockerHost: process.env['ENGINE_HOST'] ?? '',
});
