//===- spawn.c - Uses a model as a program --------------------------------===//
//
// Runs the program in its first argument on the text in its second, which goes
// through a pipe, and prints what the program says.
//
//===----------------------------------------------------------------------===//

#define _POSIX_C_SOURCE 200809L
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0)
    return 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, in[1]);
  posix_spawn_file_actions_addclose(&actions, out[0]);

  char *arguments[] = {argv[1], "-n", "8", NULL};
  pid_t child;
  if (posix_spawn(&child, argv[1], &actions, NULL, arguments, environ) != 0)
    return 1;
  close(in[0]);
  close(out[1]);
  size_t bytes = strlen(argv[2]);
  if (write(in[1], argv[2], bytes) != (ssize_t)bytes)
    return 1;
  close(in[1]);

  char text[4096];
  ssize_t got;
  while ((got = read(out[0], text, sizeof text)) > 0)
    fwrite(text, 1, (size_t)got, stdout);
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
