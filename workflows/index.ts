/** Entry of the workflow bundle. */
export { session } from './session.js';
