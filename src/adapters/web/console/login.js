import { call } from './api.js';
import { errorText, translatePage } from './strings.js';

translatePage();
const form = document.querySelector('#login');
const token = document.querySelector('#token');
const problem = document.querySelector('#problem');

token.focus();

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  try {
    await call('POST', '/api/session', { token: token.value.trim() });
    location.reload();
  } catch (error) {
    const { message, hint } = errorText(error);
    problem.textContent = `${message} ${hint}`;
    token.select();
  }
});
