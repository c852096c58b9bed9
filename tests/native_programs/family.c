// A program that starts processes in the ways that there are.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int twice(int number)
{
    int result = number * 2; // @twice
    return result;
}

static int code_of(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static pid_t start(const char *how, char **command)
{
    pid_t child = 0;
    if (strcmp(how, "spawn") == 0) {
        posix_spawn(&child, command[0], NULL, NULL, command, environ);
        return child;
    }
    child = strcmp(how, "vfork") == 0 ? vfork() : fork();
    if (child == 0 && strcmp(how, "fork") == 0)
        _exit(twice(4));
    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return child;
}

static void in_every_way(char *self)
{
    char *command[] = {self, "twice", "21", NULL};
    const char *ways[] = {"fork", "exec", "vfork", "spawn"};
    for (int way = 0; way < 4; way++)
        printf("%s %d\n", ways[way], code_of(start(ways[way], command))); // @started
    char line[100] = "";
    snprintf(line, sizeof line, "%s twice 3", self);
    printf("system %d\n", WEXITSTATUS(system(line)));
    FILE *pipe = popen("echo heard", "r");
    printf("popen %s", fgets(line, sizeof line, pipe));
    pclose(pipe);
    printf("itself %d\n", twice(1));
}

static int daemonized(void)
{
    if (fork() > 0)
        return 3;
    setsid();
    if (fork() > 0)
        _exit(0);
    int left = twice(7);
    printf("daemon %d\n", left);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "twice") == 0)
        return twice(atoi(argv[2]));
    if (argc > 2 && strcmp(argv[1], "become") == 0) {
        execvp(argv[2], argv + 2);
        return 127;
    }
    if (argc > 1 && strcmp(argv[1], "daemon") == 0)
        return daemonized();
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        pid_t child = fork();
        return child ? code_of(child) : pause();
    }
    if (argc > 1 && strcmp(argv[1], "missing") == 0) {
        char *command[] = {"/nonexistent", NULL};
        return code_of(start("vfork", command));
    }
    in_every_way(argv[0]);
    return 0;
}
