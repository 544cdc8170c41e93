"""What goes wrong for a reason that the user can mend."""


class Error(RuntimeError):
    """One sentence that says what happened and what to do.

    `exit_code` is that of the program ipex-studio: 2 wrong arguments, 3 a model that cannot be read, 4 results outside
    the tolerance, 5 not possible on this machine or in this version, 6 the database, 7 slower than before, 1 all else.
    """

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code

    def __reduce__(self):
        return type(self), (self.args[0], self.exit_code)
