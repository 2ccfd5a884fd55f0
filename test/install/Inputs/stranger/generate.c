//===- generate.c - Uses a model through tfm.h ----------------------------===//
//
// Continues the text in its argument greedily, with 8 tokens.
//
//===----------------------------------------------------------------------===//

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfm.h>

static void check(int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", tfm_error());
  exit(1);
}

static int print(void *user, const tfm_token *token) {
  fwrite(token->text, 1, token->bytes, stdout);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  tfm_program *program;
  check(tfm_open(&program));

  int32_t ids[64];
  size_t count;
  check(tfm_tokenize(program, argv[1], strlen(argv[1]), ids, 64, &count));
  if (count > 64)
    return 2;

  tfm_session *session;
  check(tfm_session_create(program, NULL, &session));
  tfm_prompt prompt = {ids, count};
  tfm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};
  check(tfm_generate(session, &prompt, 1, 8, &greedy, print, NULL));
  printf("\n");
  tfm_session_destroy(session);
  tfm_close(program);
  return 0;
}
