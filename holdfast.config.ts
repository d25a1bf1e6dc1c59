import { demoConfig } from 'holdfast/demo';

/** What `npm start` serves: the demo's agent with its scripted model. Put your own agents here. */
export default demoConfig();
