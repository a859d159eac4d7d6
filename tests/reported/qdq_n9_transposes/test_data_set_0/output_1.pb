BqbJÏ-<.ÍÞ•
UnŸzC(±¼sdã„