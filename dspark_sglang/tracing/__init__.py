"""What a finished request says about its speculation, in SGLang's own trace."""
