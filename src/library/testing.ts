/** `holdfast/testing`: scripted models and an engine for the tests of agents. */

export { call, type ScriptedAnswer, say, scriptedModel } from './script.js';
export type { TestCall } from './test-engine.js';
export { createTestEngine, type TestEngine } from './test-engine.js';
