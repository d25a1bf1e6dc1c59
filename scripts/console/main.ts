import { buildConsole } from './build.js';

await buildConsole();
