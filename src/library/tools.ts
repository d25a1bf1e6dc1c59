/** `holdfast/tools`: the tools and scaffolds that ship, and what connects tools to servers. */

export { type AiderScaffoldOptions, aiderScaffold } from '../tools/aider/aider-scaffold.js';
export { bashTool } from '../tools/container/bash.js';
export { containerEditTool } from '../tools/container/container-edit.js';
export { containerReadTool } from '../tools/container/container-read.js';
export { minimalScaffold } from '../tools/container/minimal-scaffold.js';
export { listFilesTool } from '../tools/files/list-files.js';
export { readFileTool } from '../tools/files/read-file.js';
export { writeFileTool } from '../tools/files/write-file.js';
export { type BoundCredential, credentialFetch } from '../tools/http/bound-credential.js';
export { httpRequestTool } from '../tools/http/http-request.js';
export { type StdioServerOptions, stdioServer } from '../tools/mcp/stdio-server.js';
export { memoryTools } from '../tools/memory/memory-tools.js';
export { type OpenHandsScaffoldOptions, openHandsScaffold } from '../tools/openhands/open-hands-scaffold.js';
export { type MiniSweScaffoldOptions, miniSweScaffold } from '../tools/swe/mini-swe-scaffold.js';
export { type SweScaffoldOptions, sweScaffold } from '../tools/swe/swe-scaffold.js';
export { askHumanTool } from '../tools/waiting/ask-human.js';
export { sleepTool } from '../tools/waiting/sleep.js';
export { waitForEventTool } from '../tools/waiting/wait-for-event.js';
