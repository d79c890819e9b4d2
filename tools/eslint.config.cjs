// SPDX-License-Identifier: GPL-2.0
// How the project's JavaScript is checked, with tsconfig.json; `make check` holds it to this.

const js = require("@eslint/js");

module.exports = [
  js.configs.recommended,
  {
    languageOptions: { sourceType: "script" },
    rules: {
      // the scripts of a page are one when they are put into it: TypeScript knows what each declares
      "no-undef": "off",
      "no-unused-vars": ["error", { vars: "local", argsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "max-len": ["error", { code: 120 }],
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
