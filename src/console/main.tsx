import { render } from 'preact';
import { App } from './app.js';
import { readSession, takeCode } from './session.js';
import { applyLook, storedLook } from './shared/look.js';

const root = document.getElementById('app');
if (root === null) throw new Error('The page has no element for the console.');
takeCode();
applyLook(storedLook());
render(<App />, root);
void readSession();
